// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0
//
// What the loop shows of itself, in words and messages.

#ifndef REPORT_HPP_
#define REPORT_HPP_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "diagnostic_msgs/msg/diagnostic_status.hpp"
#include "model_library.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

namespace robot_dynamics_controllers
{

/// Number that the loop shows beside its state. Counts are those since the last diagnosis.
enum Shown : std::size_t
{
  ACTIVE,
  CHAINED,
  MODE,
  CYCLES,
  UNWRITTEN,       // commands that an interface did not accept
  TIME,            // s
  LONGEST_PERIOD,  // s
  STAMP_S,
  STAMP_NS,
  FORCE,  // of the IMU in axes of the root link: acceleration less gravity, m/s^2
  SHOWN_NUMBERS = FORCE + 3
};

/// State of the loop after a cycle: numbers, then the largest error of each joint, then the state.
class Snapshot
{
public:
  Snapshot() = default;
  explicit Snapshot(const Model & model);

  double & operator[](Shown number) { return values_[number]; }
  double operator[](Shown number) const { return values_[number]; }
  double * largest_error() { return values_.data() + SHOWN_NUMBERS; }
  const double * largest_error() const { return values_.data() + SHOWN_NUMBERS; }
  double * state() { return largest_error() + n_; }

  /// All numbers.
  std::vector<double> & values() { return values_; }
  const std::vector<double> & values() const { return values_; }

  /// Return a field of the state. Throws Refusal if there is none.
  const double * field(const char * name) const
  {
    return largest_error() + n_ + offset_of(model_->state, name);
  }
  double number(const char * name) const { return *field(name); }
  /// Return a number that is an index; 0 for none.
  std::size_t index(const char * name) const
  {
    return static_cast<std::size_t>(std::max(number(name), 0.0));
  }
  std::vector<double> joints(const char * name) const { return joints(field(name)); }
  std::vector<double> joints(const double * values) const { return {values, values + n_}; }

  bool active() const { return (*this)[ACTIVE] > 0.5; }
  bool sees() const { return number("seen") > 0.5; }
  bool in_task() const
  {
    return model_->modes_in_task[static_cast<std::size_t>((*this)[MODE])] != 0;
  }
  const Model & model() const { return *model_; }

  /// Set counts and largest values to zero.
  void count_anew();

private:
  const Model * model_ = nullptr;
  std::size_t n_ = 0;
  std::vector<double> values_;
};

/// Return the name of the status, and of the cause of a stop.
std::string status_of(const Snapshot & snapshot);
std::string cause_of(const Snapshot & snapshot);

/// Return what to do about the status, the end of its line; the node has a name.
std::string remedy_of_status(const Snapshot & snapshot, const std::string & node);

/// Return the status in words.
std::string words_for_status(const Snapshot & snapshot);

/// Return why the arm stopped, or does not believe states, or follow the reference, behind a colon.
std::string reason_of_status(const Snapshot & snapshot);

/// Return in words that a joint does not move.
std::string words_for_brake(const Snapshot & snapshot);

/// Return why the end effector does not come to its target, in words.
std::string words_for_obstacle(const Snapshot & snapshot);

/// Return the time of the last cycle.
builtin_interfaces::msg::Time stamp_of(const Snapshot & snapshot);

/// Return what is reported and does not stop the arm, in words.
std::string words_for_warning(const Snapshot & snapshot);

/// Return what a deactivated controller leaves behind.
std::string farewell(const Snapshot & snapshot, const std::vector<double> & last_effort);

/// Return payload and gravity in words.
std::string words_for_load(const Model & model, const std::vector<double> & load);

void fill(control_msgs::msg::JointTrajectoryControllerState & msg, const Snapshot & snapshot);

/// Fill in efforts by cause, row by row; the first label of the layout names the rows.
void fill(std_msgs::msg::Float64MultiArray & msg, const Snapshot & snapshot);

/// Facts of a diagnostic status that the snapshot does not have.
struct Facts
{
  std::string name;  // of the node
  std::string mode;
  std::string load;
  unsigned update_rate;   // Hz
  std::uint32_t refused;  // messages
  bool measures;          // force feedback is on
};

diagnostic_msgs::msg::DiagnosticStatus diagnostics(const Snapshot & snapshot, const Facts & facts);

}  // namespace robot_dynamics_controllers

#endif  // REPORT_HPP_
