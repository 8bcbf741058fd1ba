// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/same_ops.h"

#include "tessera/onnx/node_view.h"
#include "tessera/onnx/node_writer.h"

namespace tessera::onnx_import {
namespace {

Status read_same(NodeView& node) {
  const std::string_view op = our_op(node.op());
  TESSERA_CHECK_OK(node.emit(op, node.all_inputs(), node.same_attributes(op), 0));
  return ok_status();
}

Status write_same(NodeWriter& node) {
  return node.write(their_op(node.op()), node.all_inputs(), node.same_attributes());
}

}  // namespace

std::vector<NamedConverter> same_converters() {
  std::vector<NamedConverter> list;
  for (const SameOp& op : kSameOps) list.push_back({op.theirs, read_same});
  return list;
}

std::vector<NamedWriter> same_writers() {
  std::vector<NamedWriter> list;
  for (const SameOp& op : kSameOps) list.push_back({op.ours, write_same});
  return list;
}

}  // namespace tessera::onnx_import
