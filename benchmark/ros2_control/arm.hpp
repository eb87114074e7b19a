// An arm without ROS: drives with traits of robots that can be bought, brakes, and motion over time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace compiled_plant
{

// Longest step, s: smoothed Coulomb friction is stiff at the light joints of a wrist, and drives
// close their own loop at 10 kHz
constexpr double kLongestStep = 1e-4;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Commands of all joints; NaN where there is none.
struct Command
{
  std::vector<double> position, velocity, effort;
};

// What the drives make of commands.
struct Drives
{
  std::vector<double> effort;             // limits, N m or N
  std::vector<double> kp = {}, kd = {};   // PD on position and velocity; empty for none
  double effort_rate = 0.0;               // largest change of commands, N m/s or N/s; 0 for any
  double watchdog = 0.0;                  // age of a command that stops the arm, s; 0 for none
  double first_position = kNone;          // before any command of position
  bool needs_position = false;            // without a command of position the effort is zero
};

class Arm
{
public:
  std::vector<double> q, qd, tau;

  Arm(const std::vector<double> & initial, const Drives & drives)
  : q(initial), qd(q.size()), tau(q.size()), drives_(drives), slow_(q.size())
  {
    const std::vector<double> none(q.size(), kNone);
    command_ = {none, none, std::vector<double>(q.size(), 0.0)};
  }

  virtual ~Arm() = default;

  bool braked() const {return waits_ || clamped_ || stopped_;}

  // Close the brakes until the next commands.
  void brake() {waits_ = true;}

  // Close or open the brakes, whatever the commands are.
  void clamp(bool closed) {clamped_ = closed;}

  void zero() {std::fill(command_.effort.begin(), command_.effort.end(), 0.0);}

  // Take commands. NaN is no command: the last effort goes on. The brakes open when every joint has
  // a command.
  void command(const Command & given)
  {
    bool all = true;
    for (std::size_t i = 0; i < q.size(); ++i) {
      all = all && (std::isfinite(given.effort[i]) || std::isfinite(given.position[i]));
      if (std::isfinite(given.effort[i])) {
        command_.effort[i] = std::clamp(given.effort[i], -drives_.effort[i], drives_.effort[i]);
      }
    }
    command_.position = given.position;
    command_.velocity = given.velocity;
    waits_ = waits_ && !all;
    command_age_ = 0.0;
  }

  void step(double seconds)
  {
    const int steps = std::max(1, static_cast<int>(std::ceil(seconds / kLongestStep - 1e-6)));
    const double dt = seconds / steps;
    for (int k = 0; k < steps; ++k) {
      command_age_ += dt;
      stopped_ = stopped_ || (drives_.watchdog > 0.0 && command_age_ > drives_.watchdog && !waits_);
      for (std::size_t i = 0; i < q.size(); ++i) {
        tau[i] = braked() ? 0.0 : drive(i, dt);
      }
      advance(dt);
    }
  }

protected:
  // Move on under the efforts of the drives.
  virtual void advance(double dt) = 0;

private:
  // Return the effort of a drive.
  double drive(std::size_t i, double dt)
  {
    const bool limited = drives_.effort_rate > 0.0;
    const double change = command_.effort[i] - slow_[i];
    const double most = drives_.effort_rate * dt;
    slow_[i] += limited ? std::clamp(change, -most, most) : change;
    const double given = command_.position[i];
    const double position = std::isfinite(given) ? given : drives_.first_position;
    if (drives_.needs_position && !std::isfinite(position)) {
      return 0.0;
    }
    double effort = slow_[i];
    if (!drives_.kp.empty() && std::isfinite(position)) {
      effort += drives_.kp[i] * (position - q[i]);
    }
    if (!drives_.kd.empty()) {
      const double wanted = command_.velocity[i];
      effort += drives_.kd[i] * ((std::isfinite(wanted) ? wanted : 0.0) - qd[i]);
    }
    return std::clamp(effort, -drives_.effort[i], drives_.effort[i]);
  }

  Drives drives_;
  Command command_;
  std::vector<double> slow_;  // commanded efforts, within their rate
  double command_age_ = 0.0;
  bool waits_ = true, clamped_ = false, stopped_ = false;
};

}  // namespace compiled_plant
