// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// Fields of what arrives, from the thread of a message to the control loop.

#ifndef INLET_HPP_
#define INLET_HPP_

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "exchange.hpp"
#include "model_library.hpp"

namespace robot_dynamics_controllers
{

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

#endif  // INLET_HPP_
