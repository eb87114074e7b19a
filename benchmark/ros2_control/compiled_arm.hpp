// An arm with compiled forward dynamics, friction and joint stops.
#pragma once

#include "arm.hpp"

namespace compiled_plant
{

using Forward = void (*)(const double * q, const double * qd, const double * tau, double * qdd);

// Speed at which Coulomb friction reaches 76 %, rad/s or m/s
constexpr double kFrictionWidth = 0.01;

struct Parameters
{
  std::vector<double> initial, effort, lower, upper, viscous, coulomb;
};

class CompiledArm : public Arm
{
public:
  CompiledArm(Forward forward, const Parameters & parameters, const Drives & drives)
  : Arm(parameters.initial, drives), forward_(forward), p_(parameters), net_(q.size()),
    qdd_(q.size())
  {
  }

protected:
  // Integrate by semi-implicit Euler.
  void advance(double dt) override
  {
    const std::size_t n = q.size();
    if (braked()) {
      std::fill(qd.begin(), qd.end(), 0.0);
      return;
    }
    for (std::size_t i = 0; i < n; ++i) {
      net_[i] = tau[i] - p_.viscous[i] * qd[i] -
        p_.coulomb[i] * std::tanh(qd[i] / kFrictionWidth);
    }
    forward_(q.data(), qd.data(), net_.data(), qdd_.data());
    for (std::size_t i = 0; i < n; ++i) {
      qd[i] += dt * qdd_[i];
      q[i] += dt * qd[i];
      if (q[i] < p_.lower[i] || q[i] > p_.upper[i]) {
        q[i] = std::clamp(q[i], p_.lower[i], p_.upper[i]);
        qd[i] = 0.0;
      }
    }
  }

private:
  Forward forward_;
  Parameters p_;
  std::vector<double> net_, qdd_;
};

}  // namespace compiled_plant
