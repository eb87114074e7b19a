// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// Numbers that pass between the control loop and other threads.

#ifndef EXCHANGE_HPP_
#define EXCHANGE_HPP_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "model_library.hpp"

namespace robot_dynamics_controllers
{

/// Latest numbers from one thread for another one: a triple buffer without locks or allocation.
///
/// One thread at a time may put, and one at a time may take. Neither waits for the other.
class Exchange
{
  static_assert(std::atomic<unsigned>::is_always_lock_free, "the loop must not wait");

public:
  /// Make room for a count of numbers; no other thread may use the exchange meanwhile.
  void resize(std::size_t count)
  {
    for (std::vector<double> & slot : slots_) {
      slot.assign(count, 0.0);
    }
    middle_.store(1, std::memory_order_relaxed);
    back_ = 0;
    front_ = 2;
  }

  /// Put numbers in place of those before.
  void put(const double * values) noexcept
  {
    std::copy_n(values, slots_[back_].size(), back());
    put_back();
  }

  /// Return where to write numbers that `put_back` puts.
  double * back() noexcept { return slots_[back_].data(); }

  /// Put the numbers written to `back`. They stay as they are until the next call.
  void put_back() noexcept
  {
    back_ = middle_.exchange(back_ | FRESH, std::memory_order_acq_rel) & ~FRESH;
  }

  /// Take the latest numbers, or null if there are none since the last call. They stay valid until
  /// the next call.
  const double * take() noexcept
  {
    if ((middle_.load(std::memory_order_relaxed) & FRESH) == 0) {
      return nullptr;
    }
    front_ = middle_.exchange(front_, std::memory_order_acq_rel) & ~FRESH;
    return slots_[front_].data();
  }

private:
  static constexpr unsigned FRESH = 4;

  std::array<std::vector<double>, 3> slots_;
  unsigned back_ = 0;                // of the thread that puts
  std::atomic<unsigned> middle_{1};  // index, and whether its numbers are new
  unsigned front_ = 2;               // of the thread that takes
};

/// Neighbouring fields of the vector `arrived`, which pass into the loop together.
class Inlet
{
public:
  /// Use the fields from the first to the last one. A first field <...>_came is the time of arrival.
  void open(const Layout & arrived, const std::string & first, const std::string & last)
  {
    const Field & end = field_of(arrived, last);
    layout_ = &arrived;
    at_ = offset_of(arrived, first);
    size_ = end.offset + end.size - at_;
    timed_ = first.size() > 5 && first.compare(first.size() - 5, 5, "_came") == 0;
    exchange_.resize(size_);
  }

  /// Pass fields on, by name; the others get their first values.
  void put(std::initializer_list<std::pair<const char *, const double *>> fields)
  {
    std::vector<double> values(layout_->initial + at_, layout_->initial + at_ + size_);
    for (const auto & [name, from] : fields) {
      const Field & field = field_of(*layout_, name);
      std::copy_n(from, field.size, values.data() + (field.offset - at_));
    }
    exchange_.put(values.data());
  }

  /// Write the fields that came last into `arrived`; return whether there are new ones.
  bool take(double * arrived, double now) noexcept
  {
    const double * values = exchange_.take();
    if (values == nullptr) {
      return false;
    }
    std::copy_n(values, size_, arrived + at_);
    if (timed_) {
      arrived[at_] = now;
    }
    return true;
  }

  /// Forget what came.
  void clear() noexcept { (void)exchange_.take(); }

private:
  Exchange exchange_;
  const Layout * layout_ = nullptr;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  bool timed_ = false;
};

}  // namespace robot_dynamics_controllers

#endif  // EXCHANGE_HPP_
