// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/liveness.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"

namespace tessera::memory {
namespace {

constexpr std::int64_t kGiven = -1;    ///< defined before the first op
constexpr std::int64_t kNowhere = -2;  ///< not defined
constexpr std::size_t kNobody = SIZE_MAX;

bool is_given(const Value& value) { return value.kind != Value::Kind::kComputed; }

bool lives_throughout(const Value& value) {
  return value.kind == Value::Kind::kConstant || value.kind == Value::Kind::kParameter ||
         value.stays;
}

class Analysis {
 public:
  Analysis(const Program& program, const FitsInside& inside)
      : values_(program.values),
        ops_(program.ops),
        inside_(inside),
        defined_(values_.size(), kNowhere),
        last_(values_.size(), kNowhere),
        last_reader_(values_.size(), kNobody),
        group_(values_.size()),
        members_(values_.size()) {}

  Result<Lifetimes> run() {
    TESSERA_CHECK_OK(check_numbers());
    TESSERA_CHECK_OK(find_definitions());
    TESSERA_CHECK_OK(find_uses());
    make_buffers();
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      TESSERA_CHECK_OK(share_views(k));
      TESSERA_CHECK_OK(share_in_place(k));
    }
    return std::move(found_);
  }

 private:
  std::string name(std::size_t v) const {
    return values_[v].name.empty() ? cat("value ", v) : quote_name(values_[v].name);
  }
  std::string op_name(std::size_t k) const {
    return ops_[k].name.empty() ? cat("op ", k) : quote_name(ops_[k].name);
  }
  static Error wrong(std::size_t v, std::string message, std::string help) {
    const auto at = static_cast<std::int64_t>(v);
    return Error{ErrorCode::kBadBuffer, std::move(message), Span{at, at + 1}, std::move(help)};
  }

  Status check_value(std::size_t v, std::size_t k) const {
    if (v < values_.size()) return ok_status();
    return Error{ErrorCode::kOutOfRange,
                 cat(op_name(k), " names value ", v, ", but there are ", values_.size()),
                 std::nullopt, "values are named by their positions, from 0"};
  }

  Status check_numbers() const {
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      const Op& op = ops_[k];
      for (const std::size_t v : op.inputs) TESSERA_CHECK_OK(check_value(v, k));
      for (const std::size_t v : op.outputs) TESSERA_CHECK_OK(check_value(v, k));
      for (const InPlace& request : op.in_place) {
        TESSERA_CHECK_OK(check_pair(request.output, request.input, k));
      }
      for (const ViewOf& view : op.views) {
        TESSERA_CHECK_OK(check_pair(view.output, view.input, k));
        if (view.delta >= 0) continue;
        return wrong(
            view.output,
            cat(name(view.output), " begins ", view.delta, " bytes into ", name(view.input)),
            "a view begins at or after the start of the value it shows");
      }
      for (const Scratch& scratch : op.scratch) TESSERA_CHECK_OK(check_scratch(scratch, k));
    }
    return ok_status();
  }

  Status check_pair(std::size_t output, std::size_t input, std::size_t k) const {
    TESSERA_CHECK_OK(check_value(output, k));
    TESSERA_CHECK_OK(check_value(input, k));
    const Op& op = ops_[k];
    if (std::count(op.outputs.begin(), op.outputs.end(), output) == 0) {
      return wrong(output, cat(name(output), " is not an output of ", op_name(k)),
                   "only an output of an op can share the memory of its inputs");
    }
    if (std::count(op.inputs.begin(), op.inputs.end(), input) == 0) {
      return wrong(input, cat(name(input), " is not an input of ", op_name(k)),
                   "an output can share the memory of inputs of the same op only");
    }
    return ok_status();
  }

  Status check_scratch(const Scratch& scratch, std::size_t k) const {
    if (scratch.where) TESSERA_CHECK_OK(check_value(*scratch.where, k));
    const auto refuse = [&](std::string_view message, std::string help) {
      return Error{ErrorCode::kBadBuffer, cat(op_name(k), ": ", message), std::nullopt,
                   std::move(help)};
    };
    if (scratch.bytes < 0) {
      return refuse(cat("scratch of ", scratch.bytes, " bytes"), "a size is at least 0");
    }
    if (scratch.panel < 0) {
      return refuse(cat("a panel of ", scratch.panel, " steps"), "use 0 where it cannot be split");
    }
    if (scratch.buffers < 1) {
      return refuse(cat("scratch in ", scratch.buffers, " buffers"), "at least 1; 2 to overlap");
    }
    return ok_status();
  }

  Status find_definitions() {
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (is_given(values_[v])) defined_[v] = kGiven;
    }
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      for (const std::size_t v : ops_[k].outputs) {
        if (defined_[v] == kGiven) {
          return wrong(v, cat(op_name(k), " computes ", name(v), ", which is an input"),
                       "make it a computed value, or give the op a separate output");
        }
        if (defined_[v] != kNowhere) {
          return wrong(v,
                       cat(op_name(k), " computes ", name(v), ", which ",
                           op_name(static_cast<std::size_t>(defined_[v])), " computes already"),
                       "every value is computed once");
        }
        defined_[v] = static_cast<std::int64_t>(k);
      }
    }
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (defined_[v] != kNowhere) continue;
      return wrong(v, cat(name(v), " is computed by no op"),
                   "make it an input, constant or parameter, or an output of an op");
    }
    return ok_status();
  }

  Status find_uses() {
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      for (const std::size_t v : ops_[k].inputs) {
        if (defined_[v] >= static_cast<std::int64_t>(k)) {
          return wrong(v,
                       cat(op_name(k), " reads ", name(v), " before ",
                           op_name(static_cast<std::size_t>(defined_[v])), " has computed it"),
                       "list the ops in an order in which they can run");
        }
        last_[v] = static_cast<std::int64_t>(k);
        last_reader_[v] = k;
      }
    }
    return ok_status();
  }

  void make_buffers() {
    const auto ops = static_cast<std::int64_t>(ops_.size());
    found_.moments = std::max<std::int64_t>(1, ops);
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const Value& value = values_[v];
      Buffer buffer;
      buffer.lower = std::max<std::int64_t>(0, defined_[v]);
      buffer.upper = std::max(buffer.lower, last_[v]) + 1;
      if (value.output || lives_throughout(value)) buffer.upper = found_.moments;
      found_.buffers.push_back(buffer);
      found_.names.push_back(value.name.empty() ? cat("value ", v) : value.name);
      group_[v] = v;
      members_[v] = {v};
    }
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      for (const Scratch& scratch : ops_[k].scratch) {
        Buffer buffer;
        buffer.lower = static_cast<std::int64_t>(k);
        buffer.upper = buffer.lower + 1;
        found_.buffers.push_back(buffer);
        found_.names.push_back(cat(ops_[k].name, ".", scratch.name));
        found_.scratch_of.push_back(k);
      }
    }
  }

  void share(std::size_t output, std::size_t input, std::int64_t delta) {
    found_.buffers[output].alias = Alias{input, delta};
    const std::size_t group = group_[input];
    group_[output] = group;
    members_[group].push_back(output);
  }

  Status share_views(std::size_t k) {
    for (const ViewOf& view : ops_[k].views) {
      if (found_.buffers[view.output].alias) {
        return wrong(view.output, cat(op_name(k), " makes ", name(view.output), " a view twice"),
                     "a view is part of one value");
      }
      if (!inside_(view.output, view.input, view.delta)) {
        return wrong(view.output,
                     cat(name(view.output), ", ", view.delta, " bytes into ", name(view.input),
                         ", does not stay inside it on every place"),
                     "a view cannot have bytes outside its input: copy it instead");
      }
      share(view.output, view.input, view.delta);
    }
    return ok_status();
  }

  /// Removes members that are no longer needed, so that long chains cost no more than short ones.
  void forget_the_dead(std::size_t group, std::int64_t now) {
    std::erase_if(members_[group], [&](std::size_t v) {
      return last_[v] < now && defined_[v] < now && !values_[v].output &&
             !lives_throughout(values_[v]);
    });
  }

  /// The reason why the in-place hint `request` of op k must not be used; empty if there is none.
  std::optional<std::string> objection(const InPlace& request, std::size_t k) const {
    const auto now = static_cast<std::int64_t>(k);
    for (const std::size_t v : members_[group_[request.input]]) {
      const Value& value = values_[v];
      const std::string shared = v == request.input ? "" : " and shares its memory";
      if (lives_throughout(value)) return cat(name(v), " stays in memory", shared);
      if (value.output) return cat(name(v), " is an output of the program", shared);
      if (last_[v] > now) {
        return cat(name(v), " is read again by ", op_name(last_reader_[v]), shared);
      }
      if (defined_[v] == now) return cat(name(v), " already uses that memory");
      if (v != request.input && last_[v] == now &&
          std::count(ops_[k].inputs.begin(), ops_[k].inputs.end(), v) > 0) {
        return cat(name(v), " is read by the same op", shared);
      }
    }
    if (!inside_(request.output, request.input, 0)) {
      return cat(name(request.output), " needs more bytes than ", name(request.input),
                 " on some place");
    }
    return std::nullopt;
  }

  Status share_in_place(std::size_t k) {
    for (const InPlace& request : ops_[k].in_place) {
      const std::optional<Alias>& taken = found_.buffers[request.output].alias;
      if (taken && !request.required) continue;  // by an earlier hint, or a view
      forget_the_dead(group_[request.input], static_cast<std::int64_t>(k));
      std::optional<std::string> reason = objection(request, k);
      if (taken) {
        reason = cat("it shares the memory of ", name(taken->of));
        if (taken->of == request.input) continue;
      }
      if (!reason) {
        share(request.output, request.input, 0);
        found_.in_place.push_back(request);
      } else if (request.required) {
        return wrong(request.output,
                     cat(op_name(k), " cannot compute ", name(request.output), " in place of ",
                         name(request.input), ": ", *reason),
                     "give the output separate memory");
      } else {
        found_.declined.push_back({k, request, *std::move(reason)});
      }
    }
    return ok_status();
  }

  const std::vector<Value>& values_;
  const std::vector<Op>& ops_;
  const FitsInside& inside_;
  std::vector<std::int64_t> defined_;
  std::vector<std::int64_t> last_;
  std::vector<std::size_t> last_reader_;
  std::vector<std::size_t> group_;  ///< the first of the values that share memory
  std::vector<std::vector<std::size_t>> members_;
  Lifetimes found_;
};

}  // namespace

Result<Lifetimes> lifetimes(const Program& program, const FitsInside& inside) {
  return Analysis(program, inside).run();
}

Result<Lifetimes> lifetimes(const Program& program, const std::vector<std::int64_t>& sizes) {
  if (sizes.size() < program.values.size()) {
    return Error{ErrorCode::kBadBuffer,
                 cat(program.values.size(), " values, but ", sizes.size(), " sizes"), std::nullopt,
                 "every value has a size"};
  }
  return lifetimes(program, [&sizes](std::size_t part, std::size_t whole, std::int64_t delta) {
    if (sizes[part] == 0) return true;
    return (Checked(sizes[part]) + delta).saturated() <= sizes[whole];
  });
}

}  // namespace tessera::memory
