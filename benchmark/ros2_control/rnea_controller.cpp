// RneaController: feedforward by pinocchio::rnea and PD, the least that a hand-written one does.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "pinocchio/algorithm/rnea.hpp"
#include "pinocchio/multibody.hpp"
#include "pinocchio/parsers/urdf.hpp"

#include "controller_interface/chainable_controller_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace rnea_controller
{

class RneaController : public controller_interface::ChainableControllerInterface
{
public:
  using Callback = controller_interface::CallbackReturn;
  using Configuration = controller_interface::InterfaceConfiguration;

  Callback on_init() override {return Callback::SUCCESS;}

  Callback on_configure(const rclcpp_lifecycle::State &) override
  {
    pinocchio::urdf::buildModelFromXML(get_robot_description(), model_);
    data_ = std::make_unique<pinocchio::Data>(model_);
    for (auto * vector : {&q_, &qd_, &q_d_, &qd_d_, &qdd_d_}) {
      *vector = Eigen::VectorXd::Zero(model_.nv);
    }
    return Callback::SUCCESS;
  }

  Configuration command_interface_configuration() const override
  {
    return names({"effort"});
  }

  Configuration state_interface_configuration() const override
  {
    return names({"position", "velocity"});
  }

protected:
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override
  {
    const std::vector<std::string> kinds = {"position", "velocity", "acceleration"};
    reference_interfaces_.assign(kinds.size() * static_cast<std::size_t>(model_.nv), 0.0);
    std::vector<hardware_interface::CommandInterface> exported;
    for (int i = 0; i < model_.nv; ++i) {
      for (const auto & kind : kinds) {
        exported.emplace_back(
          std::string(get_node()->get_name()) + "/" + joint(i), kind,
          &reference_interfaces_[exported.size()]);
      }
    }
    return exported;
  }

  bool on_set_chained_mode(bool) override {return true;}

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    return controller_interface::return_type::OK;
  }

  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (int i = 0; i < model_.nv; ++i) {
      const auto k = static_cast<std::size_t>(i);
      q_[i] = state_interfaces_[2 * k].get_optional().value_or(q_[i]);
      qd_[i] = state_interfaces_[2 * k + 1].get_optional().value_or(qd_[i]);
      q_d_[i] = reference_interfaces_[3 * k];
      qd_d_[i] = reference_interfaces_[3 * k + 1];
      qdd_d_[i] = reference_interfaces_[3 * k + 2];
    }
    const Eigen::VectorXd & tau = pinocchio::rnea(model_, *data_, q_d_, qd_d_, qdd_d_);
    for (int i = 0; i < model_.nv; ++i) {
      (void)command_interfaces_[static_cast<std::size_t>(i)].set_value(
        tau[i] + 100.0 * (q_d_[i] - q_[i]) + 10.0 * (qd_d_[i] - qd_[i]));
    }
    return controller_interface::return_type::OK;
  }

private:
  std::string joint(int i) const {return model_.names[static_cast<std::size_t>(i) + 1];}

  Configuration names(const std::vector<std::string> & kinds) const
  {
    Configuration found{controller_interface::interface_configuration_type::INDIVIDUAL, {}};
    for (int i = 0; i < model_.nv; ++i) {
      for (const auto & kind : kinds) {
        found.names.push_back(joint(i) + "/" + kind);
      }
    }
    return found;
  }

  pinocchio::Model model_;
  std::unique_ptr<pinocchio::Data> data_;
  Eigen::VectorXd q_, qd_, q_d_, qd_d_, qdd_d_;
};

}  // namespace rnea_controller

PLUGINLIB_EXPORT_CLASS(
  rnea_controller::RneaController, controller_interface::ChainableControllerInterface)
