// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// Times at which states were measured, where the hardware gives no stamps.

#ifndef STATE_CLOCK_HPP_
#define STATE_CLOCK_HPP_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace robot_dynamics_controllers
{

/// Tells repeated and late states of a moving arm by its own velocities: the way from one state to
/// the next takes as long as the time between both measurements.
class StateClock
{
public:
  explicit StateClock(std::size_t joints = 0)
  : q_(joints, std::numeric_limits<double>::quiet_NaN()), qd_(q_)
  {
  }

  /// Take a finite state at a time, s. Return whether it is another one than before.
  bool take(const double * q, const double * qd, double now)
  {
    double way = 0.0;     // along the mean velocity
    double square = 0.0;  // of the mean velocity
    bool same = true;
    for (std::size_t i = 0; i < q_.size(); ++i) {
      const double mean = (qd_[i] + qd[i]) / 2.0;
      way += mean * (q[i] - q_[i]);
      square += mean * mean;
      same = same && q[i] == q_[i] && qd[i] == qd_[i];
    }
    const bool moves = square > SLOW * SLOW;  // not in the first state, which is NaN before
    if (same && moves) {
      stood_ = true;
      return false;
    }
    const double passed = now - came_;
    if (moves) {
      rested_ = 0.0;
      const double between = way / square;
      // Only states that stood become late. A glitch seems to go back in time, or makes them newer
      if (between >= 0.0 && std::abs(passed - between) > LEAST) {
        const double behind = std::max(lateness_ + passed - between, 0.0);
        lateness_ = stood_ ? behind : std::min(behind, lateness_);
      }
    } else if ((rested_ += passed) > lateness_) {
      lateness_ = 0.0;  // an old state of an arm at rest is as good as a new one
    }
    stood_ = false;
    std::copy_n(q, q_.size(), q_.begin());
    std::copy_n(qd, qd_.size(), qd_.begin());
    came_ = now;
    return true;
  }

  /// Return the time at which the last state was measured, s.
  double stamp() const { return came_ - lateness_; }

private:
  static constexpr double SLOW = 0.05;    // rad/s or m/s, below which ways tell no time
  static constexpr double LEAST = 0.008;  // s, beyond the jitter of drivers

  std::vector<double> q_;
  std::vector<double> qd_;
  bool stood_ = false;  // the state was repeated since the last other one
  double came_ = 0.0;
  double lateness_ = 0.0;  // s
  double rested_ = 0.0;    // time for which the states have been at rest, s
};

}  // namespace robot_dynamics_controllers

#endif  // STATE_CLOCK_HPP_
