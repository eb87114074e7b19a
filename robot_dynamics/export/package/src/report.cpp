#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model.hpp"
#include "parameters.hpp"

namespace @package@
{
namespace
{

constexpr double AT_STOP = 0.01;  // rad or m from the end of a range
constexpr double AT_REST = 0.02;  // rad/s or m/s
constexpr double SATURATED_SHARE = 0.1;
constexpr double LARGEST_MISSED_SHARE = 0.01;

std::string joint_name(std::size_t joint) { return "joint '" + std::string(JOINTS[joint]) + "'"; }

std::string short_text(double x)
{
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.3g", x);
  return digits;
}

template <typename Values>
std::string list(const Values & values)
{
  std::string joined;
  for (const double value : values) {
    joined += (joined.empty() ? "" : ", ") + short_text(value + 0.0);
  }
  return joined;
}

std::vector<double> copy(const Vector & values) { return {values.begin(), values.end()}; }

}  // namespace

Snapshot with_extremes(Snapshot next, const Snapshot & before)
{
  next.longest_period = std::max(next.longest_period, before.longest_period);
  for (std::size_t i = 0; i < N; ++i) {
    next.largest_error[i] = std::max(next.largest_error[i], before.largest_error[i]);
  }
  return next;
}

Snapshot since(Snapshot now, const Snapshot & before)
{
  if (now.cycles < before.cycles) {  // activated again
    return now;
  }
  now.cycles -= before.cycles;
  now.unwritten -= before.unwritten;
  now.time -= before.time;
  for (std::size_t i = 0; i < N; ++i) {
    now.saturated[i] -= before.saturated[i];
  }
  return now;
}

std::string words(Status status, bool of_hand)
{
  if (of_hand && status == Status::settling) {
    return "holding still for a moment before targets of the hand are followed";
  }
  if (of_hand && status == Status::tracking) {
    return "moving the hand to its target";
  }
  if (of_hand && status == Status::holding) {
    return "holding the hand: no target asks for motion";
  }
  switch (status) {
    case Status::waiting: return "waiting for joint states";
    case Status::settling:
      return "holding still for a moment before the reference is followed";
    case Status::tracking: return "tracking the reference";
    case Status::holding: return "holding still: no reference comes";
    case Status::blind: return "coming to rest blindly: no joint states come";
    case Status::silent: return "commanding nothing: no joint states come";
    case Status::stopped: return "stopped";
    case Status::resumed: return "holding still until the reference comes to the arm";
  }
  return "";
}

std::string contact(const Command & command)
{
  const std::size_t i = command.touched;
  const std::string unit = effort_unit(i);
  return joint_name(i) + " feels an external " + short_text(command.external[i]) + " " + unit +
         ", its threshold is " + short_text(command.threshold[i]) + " " + unit +
         "; a contact, an unknown load, or a wrong model?";
}

std::string reason(const Stop & stop, const Vector & q)
{
  const std::size_t i = stop.joint;
  const std::string name = joint_name(i);
  const std::string value = short_text(std::abs(stop.value));
  const std::string limit = short_text(stop.limit);
  const std::string length = unit(i);
  const double room = std::min(q[i] - LOWER[i], UPPER[i] - q[i]);
  const std::string cause =
    room < AT_STOP ? "; the joint is at the end of its range (" + short_text(q[i]) + ")"
                   : "; is the joint blocked, or the model wrong?";
  switch (stop.cause) {
    case Cause::none: break;
    case Cause::tracking_error:
      return name + " is " + value + " " + length + " from its reference, beyond its limit of " +
             limit + " " + length + cause;
    case Cause::saturation:
      return name + " moves at " + value + " " + length +
             "/s against its reference, with its effort at its limit of " + limit + " " +
             effort_unit(i) + cause;
    case Cause::fast_reference:
      return "the reference of " + name + " moves at " + value + " " + length +
             "/s, beyond its limit of " + limit + " " + length +
             "/s; slow the motion down, and give all controllers the same limits";
    case Cause::collision:
      return name + " feels an external " + value + " " + effort_unit(i) +
             ", beyond its threshold of " + limit + " " + effort_unit(i) +
             "; clear the contact; without one, the load or the model is wrong";
  }
  return "";
}

std::string farewell(const Snapshot & snapshot)
{
  if (!snapshot.sees) {
    return "deactivated before a state came; nothing was commanded";
  }
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < N; ++i) {
    fastest = std::abs(snapshot.qd[i]) > std::abs(snapshot.qd[fastest]) ? i : fastest;
  }
  const double speed = std::abs(snapshot.qd[fastest]);
  const std::string at_rest =
    speed < AT_REST ? ""
                    : " although " + joint_name(fastest) + " moves at " + short_text(speed) + " " +
                        unit(fastest) + "/s";
  return "deactivated" + at_rest + "; feedback ends, and the last command is [" +
         list(snapshot.last_effort) + "] N m or N, which holds the arm at rest";
}

std::string words(const Load & load)
{
  std::string payload = "none";
  if (load.payload[0] > 0.0) {
    const std::array<double, 3> com = {
      {load.payload[1] / load.payload[0], load.payload[2] / load.payload[0],
       load.payload[3] / load.payload[0]}};
    payload = text(load.payload[0]) + " kg at (" + list(com) + ") m of " + PAYLOAD_FRAME;
  }
  return "payload " + payload + ", gravity " + list(load.gravity) + " m/s^2";
}

void fill(control_msgs::msg::JointTrajectoryControllerState & msg, const Snapshot & snapshot)
{
  const Command & command = snapshot.command;
  msg.header.stamp.sec = static_cast<std::int32_t>(snapshot.stamp / 1000000000);
  msg.header.stamp.nanosec = static_cast<std::uint32_t>(snapshot.stamp % 1000000000);
  msg.joint_names.assign(JOINTS.begin(), JOINTS.end());
  msg.reference.positions = copy(command.desired.q);
  msg.reference.velocities = copy(command.desired.qd);
  msg.reference.accelerations = copy(command.desired.qdd);
  msg.feedback.positions = copy(snapshot.q);
  msg.feedback.velocities = copy(snapshot.qd);
  msg.error.positions = copy(command.error);
  msg.error.velocities.resize(N);
  for (std::size_t i = 0; i < N; ++i) {
    msg.error.velocities[i] = command.desired.qd[i] - snapshot.qd[i];
  }
  msg.output.effort = copy(command.effort);
  msg.speed_scaling_factor = 1.0;
}

void fill(std_msgs::msg::Float64MultiArray & msg, const Snapshot & snapshot)
{
  const Command & command = snapshot.command;
  const std::array<const Vector *, 5> rows = {
    {&command.asked, &command.feedback, &command.integral, &command.soft_limits,
     &command.effort}};
  msg.layout.dim.resize(2);
  msg.layout.dim[0].label = "asked,feedback,integral,soft_limits,command";
  msg.layout.dim[0].size = rows.size();
  msg.layout.dim[0].stride = rows.size() * N;
  msg.layout.dim[1].label = "joints";
  msg.layout.dim[1].size = N;
  msg.layout.dim[1].stride = N;
  msg.data.clear();
  for (const Vector * row : rows) {
    msg.data.insert(msg.data.end(), row->begin(), row->end());
  }
}

diagnostic_msgs::msg::DiagnosticStatus diagnostics(const Snapshot & snapshot, const Facts & facts)
{
  using Msg = diagnostic_msgs::msg::DiagnosticStatus;
  Msg msg;
  msg.name = facts.name;
  msg.hardware_id = ROBOT;
  const auto value = [&msg](const std::string & key, const std::string & text) {
    msg.values.emplace_back();
    msg.values.back().key = key;
    msg.values.back().value = text;
  };
  const auto fault = [&msg](unsigned char level, const std::string & text) {
    const bool worse = level > msg.level;
    msg.message = msg.message.empty() ? text
                  : worse             ? text + "; " + msg.message
                                      : msg.message + "; " + text;
    msg.level = std::max(msg.level, level);
  };
  const Command & command = snapshot.command;
  value("state", snapshot.active ? "active" : "inactive");
  value("mode", facts.mode);
  if (snapshot.active) {
    const HandState & hand = command.hand;
    value("status", words(command.status, in_task_space(snapshot.mode)));
    if (hand.known) {
      value("hand", HAND);
      value(
        "target", hand.given == Target::Kind::none  ? "none: held"
                  : hand.given == Target::Kind::pose ? "target_pose"
                                                     : "target_twist");
      if (hand.given != Target::Kind::none) {
        value("target: age (s)", short_text(hand.age));
      }
      value("target: error (m or rad)", list(hand.error));
      value("singularity", short_text(hand.singularity));
      value("stiffness in use", short_text(facts.stiffness));
      if (facts.feels) {
        value("correction of the force (N or N m)", list(hand.correction));
      }
    }
    value("external effort (N m or N)", list(command.external));
    value("references", snapshot.chained ? "of a preceding controller" : "of the topic ~/reference");
    std::string errors;
    std::string saturated;
    std::string stuck;
    const double cycles = std::max(1.0, static_cast<double>(snapshot.cycles));
    for (std::size_t i = 0; i < N; ++i) {
      const std::string name = std::string(i > 0 ? ", " : "") + JOINTS[i] + ": ";
      errors += name + short_text(snapshot.largest_error[i]);
      saturated += name + std::to_string(snapshot.saturated[i]);
      if (snapshot.saturated[i] / cycles > SATURATED_SHARE) {
        stuck += (stuck.empty() ? "" : ", ") + std::string(JOINTS[i]);
      }
    }
    value("largest tracking error (rad or m)", errors);
    value("cycles saturated", saturated);
    value("cycles", std::to_string(snapshot.cycles));
    value("rate asked (Hz)", text(facts.update_rate));
    value("rate held (Hz)", text(snapshot.time > 0.0 ? snapshot.cycles / snapshot.time : 0.0));
    value("longest period (ms)", short_text(1e3 * snapshot.longest_period));
    value("commands not accepted", std::to_string(snapshot.unwritten));
    if (command.status == Status::stopped) {
      fault(Msg::ERROR, words(Status::stopped) + ": " + reason(command.stop, snapshot.q));
    } else if (command.status == Status::blind || command.status == Status::silent) {
      fault(Msg::ERROR, words(command.status));
    } else if (command.status == Status::waiting) {
      fault(Msg::WARN, words(command.status));
    }
    if (!facts.base.empty()) {
      fault(Msg::STALE, facts.base);
    }
    if (command.touched < N && command.stop.cause != Cause::collision) {
      fault(Msg::WARN, contact(command));
    }
    if (command.braked_by < N) {
      fault(
        Msg::WARN,
        joint_name(command.braked_by) + " does not move although it is pushed; is its brake closed?");
    }
    if (!stuck.empty()) {
      fault(
        Msg::WARN, "the effort of " + stuck +
                     " is at its limit; does a joint push its stop, is the load too heavy, or does "
                     "it oscillate?");
    }
    if (snapshot.unwritten > LARGEST_MISSED_SHARE * cycles) {
      fault(Msg::WARN, "the hardware does not accept commands");
    }
  }
  value("load", facts.load);
  value("gains", facts.gains);
  value("messages refused", std::to_string(facts.refused));
  if (msg.message.empty()) {
    msg.message = snapshot.active ? "ok" : "inactive";
  }
  return msg;
}

}  // namespace @package@
