// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/default_layouts.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/graph/passes/decompose.h"
#include "tessera/ops/loops.h"
#include "tessera/run/sub_meshes.h"

namespace tessera::run {
namespace {

/// Rather than with smaller blocks on the same places, tensors are tried on places of their own.
constexpr std::int64_t kLeastTogether = 256;

/// An op that reads all keys and values of a head on one place. Written as products and a softmax,
/// its parts are divided further.
constexpr const char* kNeedsAllKeys = "attention";

/// A dim that may be cut along a mesh axis.
struct Cuttable {
  std::size_t dim = 0;
  std::size_t axis = 0;
  std::int64_t extent = 1;
  std::int64_t places = 1;  ///< along the axis
  std::int64_t pieces = 1;
  bool is_spared = false;  ///< only cut when others cannot be cut any more

  std::int64_t block() const { return ceil_div(extent, pieces); }
  std::int64_t most() const { return std::min(extent, places); }
};

/// These dims, the last of them along the last mesh axis.
std::vector<Cuttable> along_last_axes(const std::vector<std::size_t>& dims, const Shape& shape,
                                      const Shape& mesh) {
  std::vector<Cuttable> list;
  for (std::size_t n = 1; n <= dims.size(); ++n) {
    const std::size_t dim = dims[dims.size() - n];
    const std::size_t axis = mesh.rank() - n;
    list.push_back({dim, axis, shape[dim], mesh[axis], 1});
  }
  return list;
}

/// Elements of a block if these dims are cut as far as they can be.
std::int64_t smallest_block(const std::vector<Cuttable>& dims, const Shape& shape) {
  Checked block(1);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const auto found = std::ranges::find(dims, d, &Cuttable::dim);
    block *= found == dims.end() ? shape[d] : ceil_div(shape[d], found->most());
  }
  return block.saturated();
}

/// The last dims, or the longest ones where cutting the last does not make blocks small enough. A
/// convolution's weights are long in the first two.
std::vector<Cuttable> cuttable_dims(const Shape& shape, const Shape& mesh, std::int64_t most) {
  const std::size_t count = std::min({shape.rank(), mesh.rank(), std::size_t{2}});
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < shape.rank(); ++d) dims.push_back(d);
  const std::vector<std::size_t> last(dims.end() - static_cast<std::ptrdiff_t>(count), dims.end());
  std::vector<Cuttable> list = along_last_axes(last, shape, mesh);
  if (shape.empty() || smallest_block(list, shape) <= most) return list;
  sort_stably(dims, [&](std::size_t a, std::size_t b) {
    return shape[a] != shape[b] ? shape[a] > shape[b] : a > b;
  });
  dims.resize(count);
  std::ranges::sort(dims);
  return along_last_axes(dims, shape, mesh);
}

/// Halves the dim with the longest block, of those that are not spared if they can be cut, until
/// blocks are small enough or nothing can be cut.
void cut_blocks(std::vector<Cuttable>& dims, std::int64_t others, std::int64_t most) {
  while (true) {
    Checked block(others);
    Cuttable* longest = nullptr;
    for (Cuttable& dim : dims) {
      block *= dim.block();
      if (dim.pieces >= dim.most()) continue;
      const bool is_better =
          longest == nullptr || (longest->is_spared && !dim.is_spared) ||
          (longest->is_spared == dim.is_spared && dim.block() > longest->block());
      if (is_better) longest = &dim;
    }
    if (block.saturated() <= most || longest == nullptr) return;
    longest->pieces = std::min(2 * longest->pieces, longest->most());
  }
}

const std::string& space_for(const graph::Value& value, const Machine& machine) {
  if (value.kind == graph::Kind::kComputed) return machine.data_space;
  for (const target::MemorySpace& space : machine.memory) {
    const bool is_host = space.name == "host";  // beyond the border of the machine
    if (space.owner != target::MemorySpace::Owner::kPlace && !is_host) return space.name;
  }
  return machine.data_space;
}

}  // namespace

Result<Layout> default_layout(const graph::Value& value, const Machine& machine, std::int64_t most,
                              const std::vector<std::size_t>& spared) {
  const Shape& shape = value.type.shape;
  const Shape mesh = machine.shape();
  std::vector<Cuttable> dims = cuttable_dims(shape, mesh, most);
  for (Cuttable& dim : dims) dim.is_spared = std::ranges::find(spared, dim.dim) != spared.end();
  std::int64_t others = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(dims, d, &Cuttable::dim) != dims.end()) continue;
    others = (Checked(others) * std::max<std::int64_t>(shape[d], 1)).saturated();
  }
  if (!shape.empty()) cut_blocks(dims, others, most);
  LayoutSpec spec;
  Form& form = spec.form;
  form.shape = shape;
  std::vector<std::int64_t> extents(mesh.rank(), 1);
  Checked stride(1);
  for (std::size_t d = shape.rank(); d-- > 0;) {
    Fold fold{{Term{static_cast<int>(d), 1}}, 0, {}};
    std::int64_t length = shape[d];
    for (const Cuttable& dim : dims) {
      if (dim.dim != d || dim.pieces <= 1) continue;
      length = dim.block();
      const std::int64_t pieces = ceil_div(dim.extent, length);
      extents[dim.axis] = pieces;
      fold.cuts.push_back(
          {length, pieces, Target::mesh(static_cast<int>(dim.axis)), 1, Cause::kGrid});
    }
    TESSERA_TRY(const std::int64_t step, stride.value("a stride"));
    if (fold.cuts.empty() || length > 1) {
      fold.cuts.push_back({1, length, Target::memory(), step, Cause::kAlignment});
      stride *= std::max<std::int64_t>(length, 1);
    }
    form.folds.push_back(std::move(fold));
  }
  TESSERA_TRY(form.mesh, Shape::make(std::move(extents)));
  spec.dtype = value.type.dtype;
  spec.atom = Atom::scalar(value.type.dtype);
  spec.space = space_for(value, machine);
  return Layout::make(std::move(spec));
}

namespace {

/// Adds the dims of an operand that follow a factor.
void add_dims(const std::optional<ops::Access>& access, int factor,
              std::vector<std::size_t>& dims) {
  for (std::size_t d = 0; access && d < access->dims.size(); ++d) {
    const std::vector<Term>& terms = access->dims[d].terms;
    if (std::ranges::find(terms, factor, &Term::dim) != terms.end()) dims.push_back(d);
  }
}

/// For each value, the dims that are better left as they are: those that an op needs whole, such as
/// the rows of a norm, and those over which it takes a sum that touches no other operand, such as
/// the rows of an embedding's table. Cutting the latter leaves shares of all results, and makes
/// nothing else smaller.
std::vector<std::vector<std::size_t>> dims_to_spare(const graph::Graph& graph) {
  std::vector<std::vector<std::size_t>> dims(graph.values.size());
  for (const graph::Node& node : graph.nodes) {
    std::vector<const graph::TensorType*> types;
    for (const graph::ValueId v : node.inputs) {
      types.push_back(v == graph::kAbsent ? nullptr : &graph.values[v].type);
    }
    graph::Types outputs;
    for (const graph::ValueId v : node.outputs) outputs.push_back(graph.values[v].type);
    const Result<ops::Loops> loops =
        ops::loops_of(graph::Call(node.op, types, node.attributes, outputs.size()), outputs);
    if (!loops) continue;
    for (std::size_t f = 0; f < loops->factors.size(); ++f) {
      const auto factor = static_cast<int>(f);
      const ops::FactorKind kind = loops->factors[f].kind;
      if (kind == ops::FactorKind::kPass) continue;
      const auto has_it = [&](const std::optional<ops::Access>& access) {
        return access && access->has(factor);
      };
      const bool is_shared = std::ranges::count_if(loops->inputs, has_it) > 1;
      if (kind == ops::FactorKind::kReduce && is_shared) continue;
      for (std::size_t i = 0; i < node.inputs.size() && i < loops->inputs.size(); ++i) {
        if (node.inputs[i] != graph::kAbsent)
          add_dims(loops->inputs[i], factor, dims[node.inputs[i]]);
      }
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        add_dims(loops->outputs[o], factor, dims[node.outputs[o]]);
      }
    }
  }
  return dims;
}

/// Default layouts, each on places of its own if they are to be apart; those that are given.
Result<std::vector<Layout>> layouts_for(const graph::Graph& graph, const Machine& machine,
                                        const std::vector<std::optional<Layout>>& given,
                                        std::int64_t most, bool are_apart) {
  std::vector<std::vector<std::size_t>> spared(graph.values.size());
  if (are_apart) spared = dims_to_spare(graph);
  std::vector<Layout> defaults;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (v < given.size() && given[v]) continue;
    TESSERA_TRY(Layout layout, default_layout(graph.values[v], machine, most, spared[v]));
    defaults.push_back(std::move(layout));
  }
  if (are_apart) {
    TESSERA_TRY(defaults, apart(std::move(defaults), machine.shape()));
  }
  std::vector<Layout> all;
  std::size_t next = 0;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const bool is_given = v < given.size() && given[v].has_value();
    all.push_back(is_given ? *given[v] : defaults[next++]);
  }
  return all;
}

/// Whether parameters stay in the memory of places, all the time.
bool keeps_parameters_on_places(const graph::Graph& graph, const Machine& machine) {
  const target::MemorySpace* const space = machine.find_space(machine.data_space);
  if (space == nullptr || space->owner != target::MemorySpace::Owner::kPlace) return false;
  return std::ranges::any_of(graph.values, [&](const graph::Value& value) {
    return value.kind != graph::Kind::kComputed && space_for(value, machine) == machine.data_space;
  });
}

/// With the first layouts that fit, of graphs as they are.
Result<Execution> compile_as_it_is(const graph::Graph& graph, const Machine& machine,
                                   const std::vector<std::optional<Layout>>& layouts,
                                   bool may_be_apart) {
  struct Way {
    bool are_apart = false;
    bool may_divide_otherwise = false;
    std::int64_t least = 1;  ///< elements of the smallest blocks that are tried
  };
  std::vector<Way> ways = {{false, false, 1}, {false, true, 1}};
  if (may_be_apart && keeps_parameters_on_places(graph, machine)) {
    ways = {{false, false, kLeastTogether}, {true, true, 1}, {false, true, 1}};
  }
  Error does_not_fit{ErrorCode::kDoesNotFit, ""};
  for (const Way& way : ways) {
    CompileOptions options;
    options.may_divide_otherwise = way.may_divide_otherwise;
    for (std::int64_t most = 4096; most >= way.least; most /= 4) {
      TESSERA_TRY(const std::vector<Layout> all,
                  layouts_for(graph, machine, layouts, most, way.are_apart));
      Result<Execution> made = compile(graph, machine, all, options);
      if (made || made.error().code != ErrorCode::kDoesNotFit) return made;
      does_not_fit = made.error();
    }
  }
  return does_not_fit;
}

}  // namespace

Result<Execution> compile_with_defaults(const graph::Graph& graph, const Machine& machine,
                                        const std::vector<std::optional<Layout>>& layouts) {
  TESSERA_CHECK_OK(machine.check());
  Result<Execution> made = compile_as_it_is(graph, machine, layouts, true);
  const bool has_attention = std::ranges::any_of(
      graph.nodes, [](const graph::Node& node) { return node.op.is(kNeedsAllKeys); });
  if (made || made.error().code != ErrorCode::kDoesNotFit || !has_attention) return made;
  TESSERA_TRY(const graph::Graph simpler,
              graph::with_decomposed_ops(graph, std::vector<std::string>{kNeedsAllKeys}));
  Result<Execution> with_simpler = compile_as_it_is(simpler, machine, layouts, true);
  if (with_simpler || with_simpler.error().code != ErrorCode::kDoesNotFit) return with_simpler;
  return made;
}

Result<Execution> compile_from_first_place(const graph::Graph& graph, const Machine& machine,
                                           const std::vector<std::optional<Layout>>& layouts) {
  TESSERA_CHECK_OK(machine.check());
  return compile_as_it_is(graph, machine, layouts, false);
}

}  // namespace tessera::run
