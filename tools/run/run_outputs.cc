// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_outputs.h"

#include <cstring>
#include <set>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tools/files/array_layout.h"
#include "tools/files/mapped_file.h"
#include "tools/files/sidecar.h"

namespace tessera::tools {

std::vector<std::string> output_files(const graph::Graph& graph, const std::string& folder) {
  std::vector<std::string> files;
  std::set<std::string> taken;
  for (const graph::ValueId v : graph.outputs) {
    std::string stem;
    for (const char c : graph.values[v].name) {
      const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
      stem += is_plain ? c : '_';
    }
    if (stem.front() == '.') stem.front() = '_';
    std::string name = stem;
    for (int number = 1; !taken.insert(name).second; ++number) name = cat(stem, "_", number);
    files.push_back(cat(folder, folder.ends_with('/') ? "" : "/", name, ".npy"));
  }
  return files;
}

Status write_outputs(const graph::Graph& graph, const std::vector<run::HostTensor>& outputs,
                     const std::vector<std::string>& files) {
  constexpr std::size_t kMostMapped = 16;
  std::vector<MappedOutput> written;
  std::vector<Tensor> tensors;
  std::vector<bool> is_raw;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const graph::TensorType& type = graph.values[graph.outputs[o]].type;
    TESSERA_TRY(Layout plain, Layout::row_major(type.shape, type.dtype));
    const Placement placement(plain);
    const FileArray array = file_array(placement);
    const std::string header = write_npy_header(array.type, false, array.shape);
    const auto size = static_cast<std::int64_t>(header.size() + outputs[o].bytes.size());
    TESSERA_TRY(MappedOutput file, MappedOutput::create(files[o], size));
    std::memcpy(file.bytes().data(), header.data(), header.size());
    std::memcpy(file.bytes().data() + header.size(), outputs[o].bytes.data(),
                outputs[o].bytes.size());
    TESSERA_CHECK_OK(file.flush());
    if (outputs.size() > kMostMapped / 2) file.unmap();
    written.push_back(std::move(file));
    tensors.push_back({placement, "native", nullptr});
    is_raw.push_back(array.is_raw_type);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    TESSERA_CHECK_OK(written[o].commit());
    TESSERA_CHECK_OK(update_sidecar(files[o], tensors[o], is_raw[o]));
  }
  return ok_status();
}

}  // namespace tessera::tools
