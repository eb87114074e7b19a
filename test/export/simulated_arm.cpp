// Hardware of ros2_control that moves by the forward dynamics of an arm, without friction, and that
// a test pushes through the topic /push: external efforts, N m.
//
// Parameter `kernel`: a shared library with the function plant_forward(q, qd, tau, qdd).

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

namespace simulated_arm
{

class SimulatedArm : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    const std::string file = info_.hardware_parameters.at("kernel");
    void * library = ::dlopen(file.c_str(), RTLD_NOW);
    void * symbol = library == nullptr ? nullptr : ::dlsym(library, "plant_forward");
    if (symbol == nullptr) {
      throw std::runtime_error(::dlerror());
    }
    forward_ = reinterpret_cast<Forward>(symbol);
    const std::size_t n = info_.joints.size();
    for (auto * vector : {&q_, &qd_, &qdd_, &effort_, &push_, &tau_}) {
      vector->assign(n, 0.0);
    }
    for (std::size_t i = 0; i < n; ++i) {
      q_[i] = get_state(info_.joints[i].name + "/position");
    }
    pushes_ = get_node()->create_subscription<std_msgs::msg::Float64MultiArray>(
      "/push", 10, [this](const std_msgs::msg::Float64MultiArray & msg) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::copy_n(msg.data.begin(), std::min(push_.size(), msg.data.size()), push_.begin());
      });
    return CallbackReturn::SUCCESS;
  }

  hardware_interface::return_type read(
    const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    const double dt = std::min(period.seconds(), LONGEST) / STEPS;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::transform(effort_.begin(), effort_.end(), push_.begin(), tau_.begin(), std::plus<>());
    }
    for (int step = 0; step < STEPS && !braked_; ++step) {
      forward_(q_.data(), qd_.data(), tau_.data(), qdd_.data());
      for (std::size_t i = 0; i < q_.size(); ++i) {
        qd_[i] += dt * qdd_[i];
        q_[i] += dt * qd_[i];
      }
    }
    for (std::size_t i = 0; i < q_.size(); ++i) {
      set_state(info_.joints[i].name + "/position", q_[i]);
      set_state(info_.joints[i].name + "/velocity", qd_[i]);
    }
    return hardware_interface::return_type::OK;
  }

  hardware_interface::return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (std::size_t i = 0; i < effort_.size(); ++i) {
      const double effort = get_command(info_.joints[i].name + "/effort");
      braked_ = braked_ && !std::isfinite(effort);
      effort_[i] = std::isfinite(effort) ? effort : 0.0;
    }
    return hardware_interface::return_type::OK;
  }

private:
  using Forward = void (*)(const double *, const double *, const double *, double *);
  static constexpr double LONGEST = 0.01;  // s; a machine that stands still stops the time
  static constexpr int STEPS = 4;

  Forward forward_ = nullptr;
  std::vector<double> q_, qd_, qdd_, effort_, push_, tau_;
  std::mutex mutex_;    // of push_
  bool braked_ = true;  // until a controller commands
  rclcpp::Subscription<std_msgs::msg::Float64MultiArray>::SharedPtr pushes_;
};

}  // namespace simulated_arm

PLUGINLIB_EXPORT_CLASS(simulated_arm::SimulatedArm, hardware_interface::SystemInterface)
