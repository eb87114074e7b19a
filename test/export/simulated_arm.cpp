// Hardware of ros2_control that moves by the equations of the exported package, without friction,
// and that a test pushes through the topic /push: external efforts, N m. The topic /shake has the
// amplitude of the acceleration of its base, m/s^2, at 1 Hz, and whether an IMU is on it.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <string>
#include <utility>

#include "hardware_interface/system_interface.hpp"
#include "base_estimate.hpp"
#include "kernels.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/imu.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

namespace pkg
{

class SimulatedArm : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    for (std::size_t i = 0; i < N; ++i) {
      q_[i] = get_state(std::string(JOINTS[i]) + "/position");
    }
    pushes_ = get_node()->create_subscription<std_msgs::msg::Float64MultiArray>(
      "/push", 10, [this](const std_msgs::msg::Float64MultiArray & msg) {
        for (std::size_t i = 0; i < std::min(N, msg.data.size()); ++i) {
          push_[i] = msg.data[i];
        }
      });
    shakes_ = get_node()->create_subscription<std_msgs::msg::Float64MultiArray>(
      "/shake", 10, [this](const std_msgs::msg::Float64MultiArray & msg) {
        shake_ = msg.data.at(0);
        shows_ = msg.data.at(1) > 0.0;
      });
    imu_ = get_node()->create_publisher<sensor_msgs::msg::Imu>("/arm_controller/imu", 10);
    return CallbackReturn::SUCCESS;
  }

  hardware_interface::return_type read(
    const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    const double dt = std::min(period.seconds(), LONGEST) / STEPS;
    time_ += STEPS * dt;
    base_[9] = shake_ * std::sin(2.0 * M_PI * time_);
    if (shows_) {
      sensor_msgs::msg::Imu msg;
      msg.header.stamp = get_node()->now();
      msg.linear_acceleration.x = base_[9] - base_[0];
      msg.linear_acceleration.y = -base_[1];
      msg.linear_acceleration.z = -base_[2];
      imu_->publish(msg);
    }
    for (int step = 0; step < STEPS && !braked_; ++step) {
      const Vector qdd = acceleration();
      for (std::size_t i = 0; i < N; ++i) {
        qd_[i] += dt * qdd[i];
        q_[i] += dt * qd_[i];
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      set_state(std::string(JOINTS[i]) + "/position", q_[i]);
      set_state(std::string(JOINTS[i]) + "/velocity", qd_[i]);
    }
    return hardware_interface::return_type::OK;
  }

  hardware_interface::return_type write(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (std::size_t i = 0; i < N; ++i) {
      const double effort = get_command(std::string(JOINTS[i]) + "/effort");
      braked_ = braked_ && !std::isfinite(effort);
      effort_[i] = std::isfinite(effort) ? effort : 0.0;
    }
    return hardware_interface::return_type::OK;
  }

private:
  static constexpr double LONGEST = 0.01;  // s; a machine that stands still stops the time
  static constexpr int STEPS = 4;

  Vector inverse(const Vector & qd, const Vector & qdd, const Base & base) const
  {
    std::array<double, 3 * N> motion{};
    std::copy(q_.begin(), q_.end(), motion.begin());
    std::copy(qd.begin(), qd.end(), motion.begin() + N);
    std::copy(qdd.begin(), qdd.end(), motion.begin() + 2 * N);
    std::array<Vector, DRIVE_ROWS> drives{};
    drives[3].fill(1.0);  // speed of stiction, which is zero
    const std::array<double, 10> payload{};
    const std::array<double, 3> tuning = {{1.0, 1.0, 1.0}};
    Vector tau{};
    kernels::feedforward(
      motion.data(), payload.data(), base.data(), drives[0].data(), tuning.data(), tau.data());
    return tau;
  }

  Vector acceleration() const
  {
    // Gauss on M qdd = tau - bias, with the columns of M by unit accelerations
    const Vector bias = inverse(qd_, {}, base_);
    std::array<std::array<double, N + 1>, N> rows{};
    for (std::size_t k = 0; k < N; ++k) {
      Vector unit{};
      unit[k] = 1.0;
      const Vector column = inverse({}, unit, {});
      for (std::size_t i = 0; i < N; ++i) {
        rows[i][k] = column[i];
      }
      rows[k][N] = effort_[k] + push_[k] - bias[k];
    }
    for (std::size_t k = 0; k < N; ++k) {
      for (std::size_t i = 0; i < N; ++i) {
        const double factor = i == k ? 0.0 : rows[i][k] / rows[k][k];
        for (std::size_t j = k; j <= N && i != k; ++j) {
          rows[i][j] -= factor * rows[k][j];
        }
      }
    }
    Vector qdd{};
    for (std::size_t i = 0; i < N; ++i) {
      qdd[i] = rows[i][N] / rows[i][i];
    }
    return qdd;
  }

  Vector q_{};
  Vector qd_{};
  Vector effort_{};
  Base base_ = standing(GRAVITY);
  double time_ = 0.0;  // s
  std::atomic<double> shake_{0.0};
  std::atomic<bool> shows_{true};
  bool braked_ = true;  // until a controller commands
  std::array<std::atomic<double>, N> push_{};
  rclcpp::Subscription<std_msgs::msg::Float64MultiArray>::SharedPtr pushes_;
  rclcpp::Subscription<std_msgs::msg::Float64MultiArray>::SharedPtr shakes_;
  rclcpp::Publisher<sensor_msgs::msg::Imu>::SharedPtr imu_;
};

}  // namespace pkg

PLUGINLIB_EXPORT_CLASS(pkg::SimulatedArm, hardware_interface::SystemInterface)
