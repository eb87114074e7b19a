// The controller of one arm in ros2_control.

#ifndef @package@_CONTROLLER_HPP_
#define @package@_CONTROLLER_HPP_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_core.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "exchange.hpp"
#include "geometry_msgs/msg/inertia_stamped.hpp"
#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "geometry_msgs/msg/vector3_stamped.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "nav_msgs/msg/odometry.hpp"
#include "parameters.hpp"
#include "rclcpp/rclcpp.hpp"
#include "report.hpp"
#include "sensor_msgs/msg/imu.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "std_srvs/srv/trigger.hpp"

namespace @package@
{

/// Commands efforts by the equations of the robot.
///
/// References come through reference interfaces, or through the topic ~/reference. The loop and
/// the other threads share no more than the exchanges, `resume_` and `stop_hand_`.
class ArmController : public controller_interface::ChainableControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;

  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

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
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;

private:
  using Parameters = std::vector<rclcpp::Parameter>;

  // -- in the loop
  void read_states();
  void take_changes();
  void read_reference_interfaces();
  void write_commands(const Vector & effort, const Vector & position);
  void show(std::int64_t stamp);

  // -- in other threads
  rcl_interfaces::msg::SetParametersResult check(const Parameters & asked);
  void apply(const Parameters & changed);
  Lookup lookup(const Parameters & asked) const;
  Load load(const Lookup & get) const;
  bool check_model();
  void warn_of_unknown_parameters();
  void open_topics();
  void on_reference(const sensor_msgs::msg::JointState & msg);
  void on_payload(const geometry_msgs::msg::InertiaStamped & msg);
  void on_gravity(const geometry_msgs::msg::Vector3Stamped & msg);
  void on_resume(
    const std_srvs::srv::Trigger::Request & request, std_srvs::srv::Trigger::Response & response);
  template <typename Msg>
  void on_target(const char * topic, const Msg & msg, Exchange<Target> & to);
  void on_felt(const geometry_msgs::msg::WrenchStamped & msg);
  template <typename Msg>
  void on_base(const Msg & msg);
  bool follows_base();
  void log_base(const Snapshot & now);
  bool has_one_publisher(const char * topic);
  std::string why_ignored(const char * topic);
  void refuse(const char * topic, const std::string & line);
  void warn_seldom(const std::string & topic, const std::string & line);
  void report();
  void log(const Snapshot & before, const Snapshot & now);
  void log_hand(const Snapshot & before, const Snapshot & now);
  void log_stiffness(const Settings & settings);
  void publish_hand();
  void publish_diagnostics();

  // -- the loop
  ControllerCore core_;
  Settings settings_;
  Command command_;
  Vector q_{};
  Vector qd_{};
  double lead_ = 0.0;    // of references of a preceding controller, s
  double now_ = 0.0;     // s since activation
  double period_ = 0.0;  // s
  bool has_reference_ = false;
  bool velocity_is_written_ = false;
  Reference reference_;
  Snapshot snapshot_;
  std::vector<hardware_interface::CommandInterface::SharedPtr> reference_in_;

  // -- between threads
  Exchange<Settings> settings_in_;
  Exchange<Load> loads_in_;
  Exchange<Reference> references_in_;
  Exchange<Target> motions_in_;
  Exchange<Target> wrenches_in_;
  Exchange<Six> felt_in_;
  Exchange<BaseMotion> bases_in_;
  Exchange<Snapshot> snapshots_out_;
  std::atomic<bool> resume_{false};
  std::atomic<bool> stop_hand_{false};

  // -- other threads
  std::mutex mutex_;  // of what follows
  Wiring wiring_;
  Settings present_;  // last put into the exchange
  std::optional<std::array<double, 3>> gravity_;  // of the topic
  Snapshot latest_;
  Snapshot peaks_;      // extremes since the last diagnostics
  Snapshot diagnosed_;  // shown by the last diagnostics
  std::uint32_t refused_ = 0;
  std::map<std::string, std::chrono::steady_clock::time_point> warned_at_;  // by topic
  std::optional<BaseFilter> base_filter_;
  std::string base_rivals_;  // nodes that publish the motion of the base, if several
  std::string base_fault_;   // as it was last logged
  double base_since_ = 0.0;  // without fault, s since activation
  std::map<std::string, std::string> contested_;  // topics, and the line about their publishers
  double share_ = 1.0;          // of the stiffness, as it was last logged
  bool feels_ = true;           // force feedback has measurements, where it is on
  double far_since_ = 0.0;      // the target is out of reach, s of steady time
  bool far_is_logged_ = false;
  std::int64_t diagnosed_at_ = 0;

  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr on_set_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr post_set_;
  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr references_;
  rclcpp::Subscription<geometry_msgs::msg::InertiaStamped>::SharedPtr payloads_;
  rclcpp::Subscription<geometry_msgs::msg::Vector3Stamped>::SharedPtr gravities_;
  rclcpp::Subscription<geometry_msgs::msg::PoseStamped>::SharedPtr target_poses_;
  rclcpp::Subscription<geometry_msgs::msg::TwistStamped>::SharedPtr target_twists_;
  rclcpp::Subscription<geometry_msgs::msg::WrenchStamped>::SharedPtr target_wrenches_;
  rclcpp::Subscription<geometry_msgs::msg::WrenchStamped>::SharedPtr felt_;
  rclcpp::SubscriptionBase::SharedPtr bases_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr resume_service_;
  rclcpp::Publisher<control_msgs::msg::JointTrajectoryControllerState>::SharedPtr states_out_;
  rclcpp::Publisher<std_msgs::msg::Float64MultiArray>::SharedPtr efforts_out_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_out_;
  rclcpp::Publisher<geometry_msgs::msg::PoseStamped>::SharedPtr pose_out_;
  rclcpp::Publisher<geometry_msgs::msg::TwistStamped>::SharedPtr error_out_;
  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr external_out_;
  rclcpp::TimerBase::SharedPtr timer_;
  control_msgs::msg::JointTrajectoryControllerState state_msg_;
  std_msgs::msg::Float64MultiArray efforts_msg_;
};

}  // namespace @package@

#endif  // @package@_CONTROLLER_HPP_
