// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/spyre_checks.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation::spyre_test {
namespace {

TEST(SpyreErrors, PointAtTheOffendingText) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<5x240xf16, spyre<device_size=[4, 5, 32], dim_map=[1, 0, 1]>>",
            "                                           ^^", ErrorCode::kContradiction,
            "a stick holds 64 elements of f16, but the last device extent is 32"},
           {"tensor<5x240xf16, spyre<device_size=[], dim_map=[]>>",
            "                                    ^^", ErrorCode::kContradiction,
            "a stick holds 64 elements of f16, but there is no device dim"},
           {"tensor<5x240xf16, spyre<device_size=[-4, 5, 64], dim_map=[1, 0, 1]>>",
            "                                     ^^", ErrorCode::kBadShape,
            "device dim 0 has the extent -4"},
           {"tensor<5x240xf16, spyre<device_size=[3, 5, 64], dim_map=[1, 0, 1]>>",
            "                                     ^", ErrorCode::kCountTooSmall,
            "device dim 0 has the extent 3, but dim 1 of extent 240 needs 4 steps of 64"},
           {"tensor<5x240xf16, spyre<device_size=[4, 4, 64], dim_map=[1, 0, 1]>>",
            "                                        ^", ErrorCode::kCountTooSmall,
            "device dim 1 has the extent 4, but dim 0 of extent 5 needs 5"},
           {"tensor<5x240xf16, spyre<device_size=[5, 64], dim_map=[0, 1]>>",
            "                                        ^^", ErrorCode::kCountTooSmall,
            "device dim 1 has the extent 64, but dim 1 of extent 240 needs 240"},
           {"tensor<5x240xf16, spyre<device_size=[4, 5, 64], dim_map=[1, 0]>>",
            "                                                        ^^^^^^",
            ErrorCode::kContradiction, "dim_map has 2 numbers for 3 device dims"},
           {"tensor<5x240xf16, spyre<device_size=[4, 5, 64], dim_map=[1, 2, 1]>>",
            "                                                            ^", ErrorCode::kOutOfRange,
            "device dim 1 is mapped to dim 2 of a tensor of rank 2"},
           {"tensor<5x240xf16, spyre<device_size=[4, 5, 64], dim_map=[1, -1, 1]>>",
            "                                                        ^^^^^^^^^^",
            ErrorCode::kContradiction, "dim_map omits dim 0 of extent 5"},
           {"tensor<240xf16, spyre<device_size=[1, 64], stride_map=[64, 1]>>",
            "                                   ^", ErrorCode::kCountTooSmall,
            "device dim 1 of stride 1 has the extent 64, but the tensor needs 240"},
           {"tensor<5x240xf16, spyre<device_size=[4, 3, 64], stride_map=[64, 240, 1]>>",
            "                                        ^", ErrorCode::kCountTooSmall,
            "device dim 1 of stride 240 has the extent 3, but the tensor needs 5"},
           {"tensor<5x60xf16, spyre<device_size=[60, 64], stride_map=[1, 1]>>",
            "                                                            ^",
            ErrorCode::kNotInjective,
            "device dims 0 and 1 (extents 60 and 64) both have the stride 1"},
           {"tensor<60xf16, spyre<device_size=[1, 512, 64], stride_map=[64, 0, 1]>>",
            "                                                               ^",
            ErrorCode::kNotInjective,
            "device dim 1 has stride 0: its 512 coordinates would hold the same elements"},
           {"tensor<60xf16, spyre<device_size=[1, 512, 64], stride_map=[64, -7, 1]>>",
            "                                                               ^^",
            ErrorCode::kOutOfRange, "device dim 1 has the stride -7"},
           {"tensor<60xf16, spyre<device_size=[64], stride_map=[2]>>",
            "                                                   ^", ErrorCode::kContradiction,
            "device dim 0 steps 2 host elements, but elements of dim 0 are 1 apart and no smaller "
            "step separates them"},
           {"tensor<60xf16, spyre<device_size=[64], stride_map=[-1]>>",
            "                                                  ^^^^", ErrorCode::kContradiction,
            "no device dim moves along dim 0 of extent 60"},
           {"tensor<5x60xf16, spyre.default(host_stride=[60])>",
            "                                           ^^^^", ErrorCode::kContradiction,
            "host_stride has 1 number for a tensor of rank 2"},
           {"tensor<5x60xf16, spyre.default(host_stride=[0, 1])>",
            "                                            ^", ErrorCode::kNotInjective,
            "dim 0 has host stride 0: its 5 elements would share one host element"},
           {"tensor<5x60xf16, spyre.default(host_stride=[-60, 1])>",
            "                                            ^^^", ErrorCode::kOutOfRange,
            "dim 0 has host stride -60"},
           {"tensor<5x60xf16, spyre.default(host_stride=[59, 1])>",
            "                                           ^^^^^^^", ErrorCode::kNotInjective,
            "host_stride [59, 1]: elements [0, 59] and [1, 0] share one slot of one place"},
           {"tensor<5xf16, spyre.default(storage_offset=-3)>",
            "                                           ^^", ErrorCode::kOutOfRange,
            "the storage offset is -3"},
           {"tensor<5x60xf16, spyre.default(dim_order=[0, 0])>",
            "                                             ^", ErrorCode::kOutOfRange,
            "dim_order names dim 0 twice"},
           {"tensor<5x60xf16, spyre.default(dim_order=[0, 2])>",
            "                                             ^", ErrorCode::kOutOfRange,
            "dim_order names dim 2 of a tensor of rank 2"},
           {"tensor<5x60xf16, spyre.default(dim_order=[0, 1, -1])>",
            "                                         ^^^^^^^^^^", ErrorCode::kContradiction,
            "dim_order has 3 dims for a tensor of rank 2"},
           {"tensor<5x64xf16, spyre.default(cores=[1, 1, 2])>",
            "                                            ^", ErrorCode::kNotSupported,
            "the stick is divided into 2 pieces"},
           {"tensor<5x64xf16, spyre.default(cores=[1, 0, 1])>",
            "                                         ^", ErrorCode::kOutOfRange,
            "device dim 1 is divided into 0 pieces"},
           {"tensor<5x64xf16, spyre.default(cores=[2, 1])>",
            "                                     ^^^^^^", ErrorCode::kContradiction,
            "cores has 2 numbers for 3 device dims"},
           {"tensor<5xf64, spyre.default()>", "              ^^^^^^^^^^^^^^^", ErrorCode::kBadDType,
            "Spyre has no sticks of f64"},
           {"tensor<5xf16, spyre.defualt()>", "                    ^^^^^^^",
            ErrorCode::kUnknownName, "spyre has no layout called 'defualt'"},
           {"tensor<5xf16, spyre<device_sise=[1, 64], dim_map=[0, 0]>>",
            "                    ^^^^^^^^^^^", ErrorCode::kUnknownName,
            "unknown key 'device_sise'"},
           {"tensor<5xf16, spyre.default(dim_map=[0])>", "                            ^^^^^^^",
            ErrorCode::kUnknownName, "unknown key 'dim_map'"},
           {"tensor<5xf16, spyre<device_size=[1, 64]>>", "              ^^^^^^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kSyntax, "dim_map or stride_map is missing"},
           {"tensor<5xf16, spyre<dim_map=[0, 0]>>", "              ^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kSyntax, "device_size is missing"},
           {"tensor<5xf16, spyre<device_size=[1, 64], dim_map=[0, 0], stride_map=[1, 1]>>",
            "                                                         ^^^^^^^^^^",
            ErrorCode::kContradiction, "a layout has one map, dim_map or stride_map"},
           {"tensor<5xf16, spyre.default(era=now, era=now)>",
            "                                     ^^^", ErrorCode::kContradiction,
            "era is given twice"},
           {"tensor<5xf16, spyre.default(era=then)>", "                                ^^^^",
            ErrorCode::kSyntax, "expected 'document' or 'now', found 'then'"},
           {"tensor<5xf16, spyre.default(sparse=1)>", "                                   ^",
            ErrorCode::kSyntax, "expected 'true' or 'false', found '1'"},
           {"tensor<5xf16, spyre.default(cores=2)>", "                                  ^",
            ErrorCode::kSyntax, "expected '[', found '2'"},
           {"tensor<5xf16, spyre.default(era=now>", "                                   ^",
            ErrorCode::kSyntax, "expected ',' or ')', found the end of the layout"},
       }) {
    expect_refused(refusal);
  }
}

TEST(SpyreErrors, SayWhatWouldBeRight) {
  for (const auto& [text, help] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<5x240xf16, spyre<device_size=[4, 5, 32], dim_map=[1, 0, 1]>>",
            "end device_size in 64"},
           {"tensor<5x240xf16, spyre<device_size=[3, 5, 64], dim_map=[1, 0, 1]>>",
            "an extent of 4 or more"},
           {"tensor<5x240xf16, spyre<device_size=[5, 64], dim_map=[0, 1]>>",
            "count its sticks in another device dim of extent 4 or more"},
           {"tensor<240xf16, spyre<device_size=[1, 64], stride_map=[64, 1]>>",
            "an extent of 4 for device dim 0 of stride 64"},
           {"tensor<240xf16, spyre<device_size=[64], stride_map=[1]>>",
            "another device dim of stride 64 and extent 4 or more"},
           {"tensor<5x60xf16, spyre.default(dim_order=[0, 1, -1])>",
            "omit the -1 and give sparse=true"},
           {"tensor<5xf16, spyre<device_sise=[1, 64], dim_map=[0, 0]>>",
            "did you mean 'device_size'?"},
           {"tensor<5xf16, spyre.defualt()>", "did you mean 'default'?"}}) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_FALSE(tensor.ok()) << text;
    EXPECT_EQ(tensor.error().help, help) << text;
  }
}

TEST(SpyreText, ComesBackAsWritten) {
  for (const std::string text : {
           "tensor<128x256x512xf16, spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>>",
           "tensor<512x256xf16, spyre<device_size=[4, 512, 64], stride_map=[64, 256, 1], "
           "host_stride=[256, 1], storage_offset=7, era=now, cores=[2, 4, 1]>>",
           "tensor<512x256xf16, spyre.default()>",
           "tensor<512x256xf16, spyre.default(dim_order=[1, 0], sparse=true, era=document, "
           "host_stride=[256, 1], storage_offset=7, cores=[1, 4, 1])>",
           "tensor<f16, spyre.default(dim_order=[])>",
       }) {
    const Result<Tensor> tensor = parse_tensor(text);
    ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
    EXPECT_EQ(print_tensor(*tensor), text);
  }
  // Keys in any order, blanks anywhere, items without effect omitted.
  const std::string loose =
      "tensor<512x256xf16, spyre < cores = [ ] , dim_map=[1,0,1] , device_size=[4,512,64] > >";
  const Result<Tensor> tensor = parse_tensor(loose);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), loose);
  EXPECT_EQ(print_tensor(*tensor),
            "tensor<512x256xf16, spyre<device_size=[4, 512, 64], dim_map=[1, 0, 1]>>");
  // The former spelling of an era.
  EXPECT_EQ(print_tensor(*parse_tensor("tensor<512x1xf16, spyre.default(era=seed)>")),
            "tensor<512x1xf16, spyre.default(era=document)>");
}

TEST(SpyreText, HostileNumbersAreRefused) {
  const std::string big = "9223372036854775807";
  for (const std::string& layout :
       {"spyre<device_size=[" + big + ", 64], dim_map=[0, 0]>",
        cat("spyre<device_size=[4, ", big, ", ", big, ", 64], dim_map=[0, -1, -1, 0]>"),
        "spyre<device_size=[4, 64], stride_map=[" + big + ", 1]>",
        "spyre<device_size=[4, 64], stride_map=[64, " + big + "]>",
        "spyre<device_size=[4, 64], stride_map=[64, 1], host_stride=[" + big + "]>",
        "spyre<device_size=[4, 64], dim_map=[0, 0], storage_offset=" + big + ">",
        "spyre<device_size=[4, 64], dim_map=[0, 0], cores=[" + big + ", 1]>",
        cat("spyre<device_size=[4, 4, 64], dim_map=[0, -1, 0], cores=[", big, ", ", big,
            ", 1]>")}) {
    const std::string text = "tensor<200xf16, " + layout + ">";
    const Result<Tensor> tensor = parse_tensor(text);
    EXPECT_FALSE(tensor.ok()) << text;
  }
}

}  // namespace
}  // namespace tessera::notation::spyre_test
