// CompiledPlant without ROS: an arm with friction, joint stops and brakes, integrated over time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace compiled_plant
{

using Forward = void (*)(const double * q, const double * qd, const double * tau, double * qdd);

// Longest step, s: smoothed Coulomb friction is stiff at the light joints of a wrist
constexpr double kLongestStep = 1e-4;
// Speed at which Coulomb friction reaches 76 %, rad/s or m/s
constexpr double kFrictionWidth = 0.01;

struct Parameters
{
  std::vector<double> initial, effort, lower, upper, viscous, coulomb;
};

class Arm
{
public:
  std::vector<double> q, qd, qdd, tau;

  Arm(Forward forward, const Parameters & parameters)
  : q(parameters.initial), qd(q.size()), qdd(q.size()), tau(q.size()),
    forward_(forward), p_(parameters), net_(q.size()), command_(q.size())
  {
  }

  bool braked() const {return braked_;}

  void brake() {braked_ = true;}

  void zero() {std::fill(command_.begin(), command_.end(), 0.0);}

  // Take the efforts of a controller. NaN is no command: the last one goes on. The brakes open
  // when every joint has one.
  void command(const double * efforts)
  {
    bool all = true;
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (std::isfinite(efforts[i])) {
        command_[i] = std::clamp(efforts[i], -p_.effort[i], p_.effort[i]);
      } else {
        all = false;
      }
    }
    braked_ = braked_ && !all;
  }

  // Integrate by semi-implicit Euler.
  void step(double seconds)
  {
    const int steps = std::max(1, static_cast<int>(std::ceil(seconds / kLongestStep - 1e-6)));
    for (int k = 0; k < steps; ++k) {
      substep(seconds / steps);
    }
  }

private:
  void substep(double dt)
  {
    const std::size_t n = q.size();
    for (std::size_t i = 0; i < n; ++i) {
      tau[i] = braked_ ? 0.0 : command_[i];
      net_[i] = tau[i] - p_.viscous[i] * qd[i] -
        p_.coulomb[i] * std::tanh(qd[i] / kFrictionWidth);
    }
    if (braked_) {
      std::fill(qd.begin(), qd.end(), 0.0);
      return;
    }
    forward_(q.data(), qd.data(), net_.data(), qdd.data());
    for (std::size_t i = 0; i < n; ++i) {
      qd[i] += dt * qdd[i];
      q[i] += dt * qd[i];
      if (q[i] < p_.lower[i] || q[i] > p_.upper[i]) {
        q[i] = std::clamp(q[i], p_.lower[i], p_.upper[i]);
        qd[i] = 0.0;
      }
    }
  }

  Forward forward_;
  Parameters p_;
  std::vector<double> net_, command_;
  bool braked_ = true;
};

}  // namespace compiled_plant
