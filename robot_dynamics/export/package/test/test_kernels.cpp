// The compiled kernels give the efforts of another formulation, and the core holds the arm.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "controller_core.hpp"
#include "kernels.hpp"
#include "reference_efforts.hpp"

namespace @package@
{
namespace
{

// Both are rounded in other places: 1e-12 of the largest effort; the references have 13 digits
constexpr double ROUND_OFF = 1e-9;

TEST(Kernels, feedforward_equals_that_of_another_formulation)
{
  const std::array<double, 3> tuning = {{1.0, 1.0, REFERENCE_FRICTION_WIDTH}};
  for (std::size_t k = 0; k < REFERENCE_EFFORTS.size(); ++k) {
    const ReferenceEfforts & sample = REFERENCE_EFFORTS[k];
    Vector tau{};
    kernels::feedforward(
      sample.motion.data(), sample.payload.data(), sample.base.data(), DRIVES[0].data(),
      tuning.data(), tau.data());
    double largest = 1.0;
    for (const double effort : sample.feedforward) {
      largest = std::max(largest, std::abs(effort));
    }
    for (std::size_t i = 0; i < N; ++i) {
      EXPECT_NEAR(tau[i], sample.feedforward[i], ROUND_OFF * largest)
        << "sample " << k << ", joint " << JOINTS[i];
    }
  }
}

Settings settings()
{
  Settings settings;
  settings.kp = DEFAULT_GAINS.back().kp;
  settings.kd = DEFAULT_GAINS.back().kd;
  settings.coupled = DEFAULT_GAINS.back().coupled;
  settings.i_clamp.fill(UNLIMITED);
  settings.soft_lower.fill(-UNLIMITED);
  settings.soft_upper.fill(UNLIMITED);
  settings.soft_velocity.fill(UNLIMITED);
  settings.tracking_error = TRACKING_ERROR;
  settings.effort_rate = EFFORT_RATE;
  settings.effort = EFFORT;
  settings.velocity = VELOCITY;
  settings.drives = DRIVES;
  settings.load = {PAYLOAD, GRAVITY};
  return settings;
}

TEST(ControllerCore, first_command_holds_the_arm)
{
  ControllerCore core;
  core.activate(settings());
  const Vector q = {};
  Command command;
  ASSERT_TRUE(core.update(q, q, 0.0, command));
  const Vector expected = core.holding_effort();
  for (std::size_t i = 0; i < N; ++i) {
    EXPECT_NEAR(command.effort[i], expected[i], ROUND_OFF * std::max(1.0, std::abs(expected[i])))
      << "joint " << JOINTS[i];
  }
}

TEST(ControllerCore, states_that_are_not_finite_never_reach_the_effort)
{
  ControllerCore core;
  core.activate(settings());
  Vector q = {};
  Command command;
  ASSERT_TRUE(core.update(q, q, 0.0, command));
  q.fill(std::nan(""));
  for (int k = 1; k < 50; ++k) {
    ASSERT_TRUE(core.update(q, q, 1e-3 * k, command));
    for (const double effort : command.effort) {
      ASSERT_TRUE(std::isfinite(effort));
    }
  }
}

}  // namespace
}  // namespace @package@
