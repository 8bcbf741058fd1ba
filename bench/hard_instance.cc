// SPDX-License-Identifier: Apache-2.0
#include "bench/hard_instance.h"

#include <algorithm>

#include "tessera/base/mixing.h"

namespace tessera::bench {
namespace {

/// The standard library's distributions differ between platforms; these do not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    const std::uint64_t number = mixed(state_);
    state_ += kGoldenStep;
    return number;
  }
  /// In [low, high]; low when there is nothing between.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(std::int64_t percent) { return between(0, 99) < percent; }
  std::size_t index(std::size_t size) { return static_cast<std::size_t>(next() % size); }

 private:
  std::uint64_t state_;
};

/// A piece of the rectangle, in grains.
struct Piece {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t bottom = 0;
  std::int64_t top = 0;

  std::int64_t life() const { return upper - lower; }
  std::int64_t height() const { return top - bottom; }
  std::int64_t area() const { return life() * height(); }
};

/// Cuts the rectangle until there are enough pieces.
class Dissection {
 public:
  Dissection(const HardOptions& options, Dice& dice) : options_(options), dice_(dice) {
    whole_ = {0, grains(options.span), 0, grains(options.capacity)};
    pieces_.push_back(whole_);
    wanted_ = std::min(std::clamp<std::int64_t>(options.buffers, 1, kMost), whole_.area());
    layers_ = std::clamp<std::int64_t>(options.layers, 1, 1024);
  }

  const Piece& whole() const { return whole_; }

  std::vector<Piece> run() {
    for (int misses = 0; !options_.even && missing() > 0 && count() < layers_ && misses < 64;) {
      if (!cut(pick(), false)) ++misses;
    }
    while (missing() > 0) {
      const std::size_t chosen = pick();
      if (missing() >= 4 && dice_.chance(options_.pinwheel_percent) && pinwheel(chosen)) continue;
      const bool in_time =
          options_.even ? longer_in_time(pieces_[chosen]) : dice_.chance(options_.time_percent);
      if (cut(chosen, in_time) || cut(chosen, !in_time)) continue;
      cut_any();
    }
    return std::move(pieces_);
  }

 private:
  static constexpr std::int64_t kMost = 1 << 20;
  std::int64_t grains(std::int64_t extent) const {
    return std::clamp<std::int64_t>(extent / std::max<std::int64_t>(options_.grain, 1), 1, kMost);
  }
  std::int64_t count() const { return static_cast<std::int64_t>(pieces_.size()); }
  std::int64_t missing() const { return wanted_ - count(); }

  /// The largest of a few, so that not all cuts go into pieces that are already small.
  std::size_t pick() {
    std::size_t chosen = dice_.index(pieces_.size());
    for (int i = 1; i < (options_.even ? 12 : 4); ++i) {
      const std::size_t other = dice_.index(pieces_.size());
      if (pieces_[other].area() > pieces_[chosen].area()) chosen = other;
    }
    return chosen;
  }

  /// True when a piece is longer than high, with its lifetime and its height measured in units of
  /// the average piece: life · n / (T · layers) > height · layers / H.
  bool longer_in_time(const Piece& piece) const {
    return piece.life() * wanted_ * whole_.height() >
           piece.height() * layers_ * layers_ * whole_.life();
  }

  std::int64_t cut_within(std::int64_t from, std::int64_t to) {
    const std::int64_t margin = options_.even ? (to - from) * 2 / 5 : 0;
    return dice_.between(std::max(from + 1, from + margin), std::min(to - 1, to - margin));
  }

  bool cut(std::size_t chosen, bool in_time) {
    Piece& piece = pieces_[chosen];
    if ((in_time ? piece.life() : piece.height()) < 2) return false;
    Piece other = piece;
    if (in_time) {
      other.lower = piece.upper = cut_within(piece.lower, piece.upper);
    } else {
      other.bottom = piece.top = cut_within(piece.bottom, piece.top);
    }
    pieces_.push_back(other);
    return true;
  }

  bool pinwheel(std::size_t chosen) {
    const Piece whole = pieces_[chosen];
    if (whole.life() < 3 || whole.height() < 3) return false;
    const std::int64_t t1 = dice_.between(whole.lower + 1, whole.upper - 2);
    const std::int64_t t2 = dice_.between(t1 + 1, whole.upper - 1);
    const std::int64_t b1 = dice_.between(whole.bottom + 1, whole.top - 2);
    const std::int64_t b2 = dice_.between(b1 + 1, whole.top - 1);
    pieces_[chosen] = {t1, t2, b1, b2};
    pieces_.push_back({whole.lower, t2, whole.bottom, b1});
    pieces_.push_back({t2, whole.upper, whole.bottom, b2});
    pieces_.push_back({t1, whole.upper, b2, whole.top});
    pieces_.push_back({whole.lower, t1, b1, whole.top});
    return true;
  }

  /// Cuts some piece that can be cut: there is one while there are fewer pieces than grains.
  void cut_any() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (cut(i, true) || cut(i, false)) return;
    }
  }

  const HardOptions& options_;
  Dice& dice_;
  Piece whole_;
  std::int64_t wanted_ = 1;
  std::int64_t layers_ = 1;
  std::vector<Piece> pieces_;
};

/// Removes parts of pieces, and tracks what is live in each section. A section lies between two
/// moments at which some piece begins or ends.
class Waste {
 public:
  Waste(std::vector<Piece>& pieces, Dice& dice) : pieces_(pieces), dice_(dice) {
    for (const Piece& piece : pieces_) {
      moments_.push_back(piece.lower);
      moments_.push_back(piece.upper);
    }
    std::sort(moments_.begin(), moments_.end());
    moments_.erase(std::unique(moments_.begin(), moments_.end()), moments_.end());
    live_.resize(moments_.size() - 1);
    full_.resize(live_.size());
    for (const Piece& piece : pieces_) add(piece, 1);
    taken_ = 0;
  }

  /// Keeps about this share of the sections full, and at least one.
  void keep_full(std::int64_t percent) {
    for (auto&& is_full : full_) is_full = dice_.chance(percent);
    full_[dice_.index(full_.size())] = true;
  }

  /// Makes pieces lower until no section has more than `top` live, or nothing can be made lower.
  void lower_to(std::int64_t top) {
    for (std::size_t s = 0; s < live_.size(); ++s) {
      for (std::int64_t tries = 0; live_[s] > top && tries < 1000; ++tries) {
        Piece& piece = pieces_[dice_.index(pieces_.size())];
        if (piece.lower > moments_[s] || piece.upper <= moments_[s]) continue;
        trim_height(piece, std::min(piece.height() - 1, live_[s] - top));
      }
    }
  }

  /// Removes about `area`, where nothing has to stay full; only from lifetimes, or from both.
  void take(std::int64_t area, bool lives_only) {
    // Most lifetimes touch a section that stays full, but most ends of lifetimes do not.
    for (std::size_t tries = 0; taken_ < area && tries < 64 * pieces_.size(); ++tries) {
      Piece& piece = pieces_[dice_.index(pieces_.size())];
      const std::int64_t most = std::max<std::int64_t>(1, (area - taken_) / piece.life());
      if (!lives_only && dice_.chance(50)) {
        const auto [from, to] = sections(piece);
        if (std::find(full_.begin() + from, full_.begin() + to, true) != full_.begin() + to) {
          continue;
        }
        trim_height(piece, std::min(piece.height() / 2, most));
      } else {
        trim_life(piece, dice_.chance(50));
      }
    }
  }

 private:
  using Range = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
  Range sections(const Piece& piece) const {
    const auto at = [&](std::int64_t moment) {
      return std::lower_bound(moments_.begin(), moments_.end(), moment) - moments_.begin();
    };
    return {at(piece.lower), at(piece.upper)};
  }

  void add(const Piece& piece, std::int64_t sign) {
    const auto [from, to] = sections(piece);
    for (std::ptrdiff_t s = from; s < to; ++s) {
      live_[static_cast<std::size_t>(s)] += sign * piece.height();
    }
    taken_ -= sign * piece.area();
  }

  void trim_height(Piece& piece, std::int64_t most) {
    if (most < 1) return;
    add(piece, -1);
    const std::int64_t less = dice_.between(1, most);
    // In the plan, either its bottom or its top stays where it was.
    dice_.chance(50) ? piece.top -= less : piece.bottom += less;
    add(piece, 1);
  }

  /// Up to the next section that must stay full.
  void trim_life(Piece& piece, bool at_the_end) {
    const auto [from, to] = sections(piece);
    std::ptrdiff_t most = 0;
    while (most < to - from - 1 &&
           !full_[static_cast<std::size_t>(at_the_end ? to - 1 - most : from + most)]) {
      ++most;
    }
    if (most == 0) return;
    const std::int64_t less = dice_.between(1, std::max<std::int64_t>(1, most / 2));
    add(piece, -1);
    if (at_the_end) {
      piece.upper = moments_[static_cast<std::size_t>(to - less)];
    } else {
      piece.lower = moments_[static_cast<std::size_t>(from + less)];
    }
    add(piece, 1);
  }

  std::vector<Piece>& pieces_;
  Dice& dice_;
  std::vector<std::int64_t> moments_;
  std::vector<std::int64_t> live_;
  std::vector<bool> full_;
  std::int64_t taken_ = 0;
};

}  // namespace

HardInstance hard_instance(const HardOptions& options) {
  Dice dice(options.seed);
  Dissection dissection(options, dice);
  const Piece whole = dissection.whole();
  std::vector<Piece> pieces = dissection.run();
  Waste waste(pieces, dice);
  if (options.full_percent > 0) {
    waste.keep_full(options.full_percent);
  } else {
    waste.lower_to(whole.height() * std::clamp<std::int64_t>(options.top_permille, 0, 1000) / 1000);
  }
  waste.take(whole.area() / 1000 * std::clamp<std::int64_t>(options.waste_permille, 0, 1000),
             options.even);

  // The order of the cuts would reveal the plan.
  for (std::size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[dice.index(i)]);
  const std::int64_t grain = std::max<std::int64_t>(options.grain, 1);
  HardInstance instance;
  instance.capacity = whole.height() * grain;
  for (const Piece& piece : pieces) {
    memory::Buffer buffer;
    buffer.lower = piece.lower * grain;
    buffer.upper = piece.upper * grain;
    buffer.size = piece.height() * grain;
    instance.problem.buffers.push_back(buffer);
    instance.offsets.push_back(piece.bottom * grain);
  }
  return instance;
}

std::vector<NamedHardOptions> hard_family(std::uint64_t seed) {
  std::vector<NamedHardOptions> family = {
      {"seldom_full", {.buffers = 154, .full_percent = 8, .waste_permille = 50}},
      {"mostly_full", {.buffers = 170, .full_percent = 60, .waste_permille = 28}},
      {"never_full",
       {.buffers = 203, .full_percent = 0, .top_permille = 991, .waste_permille = 20}},
      {"many_alive",
       {.buffers = 213,
        .layers = 12,
        .full_percent = 0,
        .top_permille = 940,
        .waste_permille = 100}},
      {"even",
       {.buffers = 296, .layers = 15, .even = true, .full_percent = 14, .waste_permille = 270}},
      {"many_sections",
       {.buffers = 454, .layers = 1, .time_percent = 60, .full_percent = 45, .waste_permille = 56}},
  };
  for (NamedHardOptions& named : family) named.options.seed = seed;
  return family;
}

}  // namespace tessera::bench
