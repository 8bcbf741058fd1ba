// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/node.h"

#include <mutex>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/frontend/elements.h"

namespace tessera::frontend {

Tensor::Node::~Node() {
  std::vector<NodePointer> released = std::move(inputs);
  while (!released.empty()) {
    const NodePointer last = std::move(released.back());
    released.pop_back();
    if (last.use_count() > 1) continue;
    std::vector<NodePointer> more;
    {
      const std::lock_guard lock(last->mutex);
      more = std::move(last->inputs);
      last->inputs.clear();
    }
    for (NodePointer& each : more) released.push_back(std::move(each));
  }
}

graph::Data Tensor::Node::elements() {
  const std::lock_guard lock(mutex);
  return data;
}

std::vector<NodePointer> Tensor::Node::operands() {
  const std::lock_guard lock(mutex);
  return inputs;
}

Status Tensor::Node::make_random() {
  const std::lock_guard lock(mutex);
  if (!seed || data.form != graph::Data::Form::kNone) return ok_status();
  TESSERA_TRY(std::string bytes, normal_elements(*seed, type));
  data = graph::Data::of_bytes(std::move(bytes));
  return ok_status();
}

Status Tensor::Node::make_elements() {
  TESSERA_CHECK_OK(make_random());
  const std::lock_guard lock(mutex);
  if (data.form != graph::Data::Form::kFill) return ok_status();
  TESSERA_CHECK_OK(check_room(type.bytes()));
  data = graph::Data::of_bytes(repeated(*data.bytes, type.shape.elements()));
  return ok_status();
}

void Tensor::Node::keep(std::string bytes) {
  std::vector<NodePointer> released;
  const std::lock_guard lock(mutex);
  if (data.form == graph::Data::Form::kBytes) return;
  data = graph::Data::of_bytes(std::move(bytes));
  released = std::move(inputs);
  inputs.clear();
}

Tensor tensor_of(const NodePointer& node) {
  auto handle = std::make_shared<const Tensor::Handle>(Tensor::Handle{node});
  node->handle = handle;
  return Tensor(std::move(handle));
}

const graph::TensorType& Tensor::type() const { return handle_->node->type; }

const std::optional<Layout>& Tensor::layout() const { return handle_->node->layout; }

const NodePointer& Tensor::node() const { return handle_->node; }

bool Tensor::is_evaluated() const {
  return handle_->node->elements().form == graph::Data::Form::kBytes;
}

std::span<const std::byte> Tensor::bytes() const {
  const graph::Data data = handle_->node->elements();
  if (data.form != graph::Data::Form::kBytes) return {};
  return std::as_bytes(std::span(*data.bytes));
}

}  // namespace tessera::frontend
