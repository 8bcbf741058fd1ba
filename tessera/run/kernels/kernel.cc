// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kernels/kernel.h"

#include <map>

#include "tessera/base/text.h"
#include "tessera/run/kernels/nest.h"

namespace tessera::run {

namespace {

const std::map<std::string_view, kernels::Kernel>& all_kernels() {
  static const std::map<std::string_view, kernels::Kernel> table = [] {
    std::map<std::string_view, kernels::Kernel> made;
    for (const auto& family :
         {kernels::elementwise_kernels(), kernels::contraction_kernels(),
          kernels::reduction_kernels(), kernels::line_kernels(), kernels::norm_kernels(),
          kernels::move_kernels(), kernels::gather_kernels(), kernels::window_kernels(),
          kernels::creation_kernels()}) {
      for (const kernels::Entry& entry : family) made.emplace(entry.op, entry.kernel);
    }
    return made;
  }();
  return table;
}

const std::map<std::string_view, kernels::FastEntry>& fast_kernels() {
  static const std::map<std::string_view, kernels::FastEntry> table = [] {
    std::map<std::string_view, kernels::FastEntry> made;
    for (const auto& family : {kernels::vector_map_kernels(), kernels::vector_line_kernels(),
                               kernels::panel_product_kernels(), kernels::attention_kernels()}) {
      for (const kernels::FastEntry& entry : family) made.emplace(entry.op, entry);
    }
    return made;
  }();
  return table;
}

}  // namespace

bool has_kernel(std::string_view op) { return all_kernels().contains(op); }

Status perform(const Task& task, std::string_view* used) {
  const auto fast = fast_kernels().find(task.call->op().name());
  const bool is_fast = fast != fast_kernels().end() && fast->second.kernel(task);
  if (used != nullptr) *used = is_fast ? fast->second.name : "plain";
  return is_fast ? ok_status() : perform_plainly(task);
}

Status perform_plainly(const Task& task) {
  const std::string_view op = task.call->op().name();
  const auto found = all_kernels().find(op);
  if (found == all_kernels().end()) {
    return Error{ErrorCode::kNotSupported, cat("op ", op, " has no kernel"), std::nullopt,
                 "replace it by ops of the table (tessera graph --ops)"};
  }
  return found->second(task);
}

}  // namespace tessera::run
