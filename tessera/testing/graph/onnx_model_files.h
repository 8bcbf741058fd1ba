// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "onnx/onnx_pb.h"
#include "tessera/base/text.h"
#include "tessera/onnx/onnx_import.h"
#include "tessera/testing/graph/naive_eval.h"
#include "tessera/testing/graph/onnx_models.h"

/// A model of ONNX's test data with the files of its inputs.
namespace tessera::test {

/// The inputs that the model's file does not give, in order: the number of a file is that of the
/// input.
inline std::vector<const ::onnx::ValueInfoProto*> open_inputs(const ::onnx::ModelProto& model) {
  std::set<std::string> initialized;
  for (const auto& tensor : model.graph().initializer()) initialized.insert(tensor.name());
  std::vector<const ::onnx::ValueInfoProto*> inputs;
  for (const auto& input : model.graph().input()) {
    if (!initialized.contains(input.name())) inputs.push_back(&input);
  }
  return inputs;
}

/// Imports a model; inputs that decide a shape are bound to the data of their files, as a user
/// would bind them.
inline Result<onnx_import::Imported> import_with_data(const std::filesystem::path& folder,
                                                      const std::string& bytes,
                                                      const ::onnx::ModelProto& model) {
  onnx_import::ImportOptions options;
  options.folder = folder.string();
  const std::filesystem::path data = folder / "test_data_set_0";
  std::map<std::string, onnx_import::BoundInput> files;
  int number = 0;
  for (const ::onnx::ValueInfoProto* const input : open_inputs(model)) {
    const Result<onnx_import::BoundInput> tensor =
        onnx_import::read_tensor(file_bytes(data / cat("input_", number++, ".pb")));
    if (!tensor) continue;
    files[input->name()] = *tensor;
    options.shapes[input->name()] = tensor->type.shape.extents();
  }
  while (true) {
    Result<onnx_import::Imported> imported = onnx_import::import_onnx(bytes, options);
    if (!imported) return imported;
    bool bound = false;
    for (const onnx_import::Unsupported& each : imported->unsupported) {
      const auto file = files.find(each.needs);
      if (file != files.end()) bound = options.values.insert(*file).second || bound;
    }
    if (!bound) return imported;
  }
}

/// The elements of the input files; nullopt if one cannot be read.
inline std::optional<std::map<std::string, NaiveTensor>> inputs_of_files(
    const std::filesystem::path& folder, const ::onnx::ModelProto& model) {
  std::map<std::string, NaiveTensor> inputs;
  int number = 0;
  for (const ::onnx::ValueInfoProto* const input : open_inputs(model)) {
    Result<onnx_import::BoundInput> file = onnx_import::read_tensor(
        file_bytes(folder / "test_data_set_0" / cat("input_", number++, ".pb")));
    if (!file) return std::nullopt;
    // The files have the bits of bf16 as ui16; the model's own declaration has the type.
    if (input->type().tensor_type().elem_type() == ::onnx::TensorProto::BFLOAT16) {
      file->type.dtype = DType::kBF16;
    }
    if (const auto tensor = naive_tensor(file->type, file->data)) inputs[input->name()] = *tensor;
  }
  return inputs;
}

/// Two files follow ONNX's script where it differs from the text of Resize: they divide by an
/// unrounded length (2.4 - 1 instead of 2 - 1) under align_corners.
inline bool differs_from_the_text(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  return name == "test_resize_downsample_scales_cubic_align_corners" ||
         name == "test_resize_downsample_scales_linear_align_corners";
}

}  // namespace tessera::test
