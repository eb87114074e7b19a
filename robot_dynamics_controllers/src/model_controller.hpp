// Copyright (c) The robot_dynamics authors. SPDX-License-Identifier: Apache-2.0

#ifndef MODEL_CONTROLLER_HPP_
#define MODEL_CONTROLLER_HPP_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "exchange.hpp"
#include "geometry_msgs/msg/inertia_stamped.hpp"
#include "geometry_msgs/msg/vector3_stamped.hpp"
#include "messages.hpp"
#include "model_library.hpp"
#include "parameter_values.hpp"
#include "rclcpp/rclcpp.hpp"
#include "refusal.hpp"
#include "report.hpp"
#include "std_srvs/srv/trigger.hpp"

namespace robot_dynamics_controllers
{

/// Commands efforts by the controller of a model library.
///
/// References come through reference interfaces, or through the topic ~/reference. The loop writes
/// what arrived into the vectors of the model, calls its step, and reads the command; it decides
/// nothing. The loop and the other threads share no more than the exchanges and the atomic flags.
class ModelController : public controller_interface::ChainableControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using Interfaces = controller_interface::InterfaceConfiguration;
  using References = std::vector<hardware_interface::CommandInterface::SharedPtr>;

  Interfaces command_interface_configuration() const override;
  Interfaces state_interface_configuration() const override;

  CallbackReturn on_init() override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State & previous) override;

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  References on_export_reference_interfaces_list() override;

private:
  /// Fields of what arrives, and of the state, that the loop writes and reads.
  // clang-format off
  enum Arrived : std::size_t {
    NOW, STATE_NEW, STATE_Q, STATE_QD, STATE_CAME, REF_CAME, REF_LAST, REF_AGE,
    REF_BEFORE, REF_AFTER, REF_QDD, REF_TAU, REF_HAS_TAU, RESUME, LOAD, GRAVITY, BASE, DROPS_TARGET,
    WRENCH_CAME, MEASURED_WRENCH, LEAD, UNSTAMPED, ARRIVED_FIELDS};
  enum State : std::size_t {STATUS, SEEN, COMMANDS, TAU, POSITION, VELOCITY, ERROR, STATE_FIELDS};
  // clang-format on

  // -- in the loop
  void read_states();
  void take_changes();
  void read_reference_interfaces();
  void write_commands(const double * effort, const double * qd);
  void show(std::int64_t stamp);

  // -- in other threads
  rclcpp::Logger logger() const { return get_node()->get_logger(); }
  void inform(const std::string & line) const { RCLCPP_INFO(logger(), "%s", line.c_str()); }
  void warn(const std::string & line) const { RCLCPP_WARN(logger(), "%s", line.c_str()); }
  void fail(const std::string & line) const { RCLCPP_ERROR(logger(), "%s", line.c_str()); }
  void use_model(std::unique_ptr<ModelLibrary> && model);
  Interfaces interfaces(const std::vector<std::string> & kinds) const;
  rcl_interfaces::msg::SetParametersResult check(const Parameters & given);
  void apply(const Parameters & changed);
  Lookup lookup(const Parameters & requested) const;
  Configured configured(const Lookup & get) const;
  void fill_in(const Parameters & found);
  void check_model();
  void warn_of_unknown_parameters();
  void open_topics();
  void put(Configured && found, bool load_alone = false);
  void put_load();
  const Snapshot & latest();  // with the mutex
  void on_reference(const sensor_msgs::msg::JointState & msg);
  void on_payload(const geometry_msgs::msg::InertiaStamped & msg);
  void take_imu(const Snapshot & now);
  void on_gravity(const geometry_msgs::msg::Vector3Stamped & msg);
  void on_resume(std_srvs::srv::Trigger::Response & response);
  void on_target(const char * topic, const std::function<void(const Frames &)> & put);
  void check_by(
    decltype(Model::check_load) kernel, const double * given, const std::string & subject = "");
  bool has_one_publisher(const char * topic);
  std::string why_ignored(const char * topic);
  void refuse(const std::string & line);
  void log_notice(const std::string & before);
  void report();
  void log(const Snapshot & before, const Snapshot & now);
  void log_task(const Snapshot & before, const Snapshot & now);
  void publish_task(const Snapshot & now);
  void publish_diagnostics(const Snapshot & now);

  double * arrived(Arrived field) { return arrived_.data() + arrived_at_[field]; }
  const double * state(State field) const { return state_ + state_at_[field]; }
  double * next() { return snapshots_out_.back() + shown_.values().size() - model().state.size; }
  void put_snapshot();
  const Model & model() const { return **model_; }

  std::unique_ptr<ModelLibrary> model_;
  std::unique_ptr<ModelLibrary> last_model_;  // a callback may still use it
  std::array<std::size_t, ARRIVED_FIELDS> arrived_at_{};
  std::array<std::size_t, STATE_FIELDS> state_at_{};
  std::size_t edition_at_ = 0;  // of the settings
  std::size_t mode_at_ = 0;
  std::size_t n_ = 0;

  // -- the loop
  const double * state_ = nullptr;  // in the snapshot that was put last
  std::vector<double> arrived_, settings_;
  Snapshot shown_;                 // except for its state
  double now_ = 0.0;               // s since activation
  double period_ = 0.0;            // s
  double edition_ = 0.0;           // of the settings
  std::array<double, 2> chain_{};  // of a preceding controller; see robot_dynamics_model.reference
  Eigen::VectorXd sensed_;
  std::vector<double> written_, chained_;  // by it, and the reference
  Eigen::VectorXd effort_;
  References references_;

  // -- between threads
  Exchange settings_in_, snapshots_out_;
  Inlet load_in_, reference_in_, pose_in_, twist_in_, push_in_, posture_in_, wrench_in_;
  const std::array<Inlet *, 5> targets_in_{
    &pose_in_, &twist_in_, &push_in_, &posture_in_, &wrench_in_};
  std::atomic<bool> resume_{false};
  std::atomic<bool> drops_target_{false};
  std::atomic<bool> counts_anew_{false};

  // -- other threads
  std::mutex mutex_;  // of what follows
  std::unique_ptr<model_controller::ParamListener> listener_;
  std::optional<ParameterValues> values_;
  Wiring wiring_;
  Configured present_;                          // last put into the exchanges
  std::optional<std::vector<double>> gravity_;  // of the topic
  Snapshot latest_, logged_;
  std::vector<double> last_effort_;  // left on deactivation
  std::vector<double> still_;        // no velocity
  std::uint32_t refused_ = 0;
  std::atomic<bool> filling_{false};              // parameters are set by this controller itself
  Reasons reasons_;                               // logged of late
  std::map<std::string, std::string> contested_;  // topics, and the line about their publishers
  std::chrono::steady_clock::time_point diagnosed_at_;

  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr on_set_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr post_set_;

  /// What is open while the controller is configured.
  struct Topics
  {
    std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions;
    rclcpp::ServiceBase::SharedPtr resume;
    rclcpp::Publisher<control_msgs::msg::JointTrajectoryControllerState>::SharedPtr states;
    rclcpp::Publisher<std_msgs::msg::Float64MultiArray>::SharedPtr efforts;
    rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics;
    rclcpp::Publisher<geometry_msgs::msg::PoseStamped>::SharedPtr pose;
    rclcpp::Publisher<geometry_msgs::msg::TwistStamped>::SharedPtr error;
    rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr external;
    rclcpp::TimerBase::SharedPtr timer;
  };
  Topics topics_;
};

}  // namespace robot_dynamics_controllers

#endif  // MODEL_CONTROLLER_HPP_
