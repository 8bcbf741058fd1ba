// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/mutex.h"
#include "tessera/frontend/tensor.h"
#include "tessera/graph/data.h"
#include "tessera/graph/graph.h"

namespace tessera::frontend {

/// What a tensor is made of: an op with its operands, a seed, or elements. Edges between nodes keep
/// nodes alive, but only a Tensor keeps a Handle: a node without a live handle is a part of an
/// expression that the program can no longer name.
struct Tensor::Node {
  graph::TensorType type;
  std::optional<Layout> layout;
  std::string stem;  ///< of its name in a graph
  graph::Kind kind = graph::Kind::kComputed;
  std::optional<graph::Op> op;  ///< of computed ones
  graph::Attributes attributes;
  std::weak_ptr<const Handle> handle;

  // Below here: what evaluation changes, under the mutex.
  Mutex mutex;
  std::vector<std::shared_ptr<Node>> inputs;  ///< none once it has elements
  std::optional<std::uint64_t> seed;          ///< of random elements that are not made yet
  graph::Data data;                           ///< kNone before evaluation; a fill is no evaluation

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// Expressions may be millions of ops deep: operands are released in a loop.
  ~Node();

  bool is_held() const { return !handle.expired(); }
  graph::Data elements();
  std::vector<std::shared_ptr<Node>> operands();
  /// Makes random elements, if they are not made yet. Errors: kOutOfMemory and the like.
  Status make_random();
  /// A fill becomes elements; random ones are made.
  Status make_elements();
  /// Keeps elements, and releases the operands; those that are there already stay.
  void keep(std::string bytes);
};

struct Tensor::Handle {
  std::shared_ptr<Node> node;
};

using NodePointer = std::shared_ptr<Tensor::Node>;

/// The tensor of a new node.
Tensor tensor_of(const NodePointer& node);

}  // namespace tessera::frontend
