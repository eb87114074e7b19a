// An arm that MuJoCo simulates, with the efforts that a robot adds to commands by itself.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "arm.hpp"

namespace compiled_plant
{

// Dry friction of a closed brake, N m or N
constexpr double kBrake = 1e5;

// Shares of the arm's own efforts that the robot adds, from 0 to 1.
struct Added
{
  double gravity = 0.0, coriolis = 0.0, viscous = 0.0, coulomb = 0.0;
};

class MujocoArm : public Arm
{
public:
  // `file` is a model with one degree of freedom a joint, in the order of `initial`.
  MujocoArm(
    const std::string & file, const std::vector<double> & initial, const Drives & drives,
    const Added & added = {})
  : Arm(initial, drives), added_(added),
    model_(mj_loadModel(file.c_str(), nullptr), mj_deleteModel),
    data_(nullptr, mj_deleteData), still_(nullptr, mj_deleteData), weight_(q.size())
  {
    if (!model_ || static_cast<std::size_t>(model_->nv) != q.size()) {
      throw std::runtime_error("model: " + file + " is no model of these joints");
    }
    data_.reset(mj_makeData(model_.get()));
    still_.reset(mj_makeData(model_.get()));
    std::copy(q.begin(), q.end(), data_->qpos);
    dry_.assign(model_->dof_frictionloss, model_->dof_frictionloss + q.size());
    mj_forward(model_.get(), data_.get());
    weigh();
  }

protected:
  void advance(double dt) override
  {
    const std::size_t n = q.size();
    model_->opt.timestep = dt;
    for (std::size_t i = 0; i < n; ++i) {
      model_->dof_frictionloss[i] = braked() ? kBrake : dry_[i];
      data_->qfrc_applied[i] = tau[i] + (braked() ? 0.0 : own(i));
    }
    mj_step(model_.get(), data_.get());
    std::copy_n(data_->qpos, n, q.begin());
    std::copy_n(data_->qvel, n, qd.begin());
    weigh();
  }

private:
  // Return the effort that the robot adds, by the state before the last step.
  double own(std::size_t i) const
  {
    return added_.gravity * weight_[i] +
           added_.coriolis * (data_->qfrc_bias[i] - weight_[i]) +
           added_.viscous * model_->dof_damping[i] * qd[i] +
           added_.coulomb * dry_[i] * std::tanh(qd[i] / kAddedWidth);
  }

  // Compute the efforts of gravity, where the robot adds them.
  void weigh()
  {
    if (added_.gravity > 0.0 || added_.coriolis > 0.0) {
      std::copy(q.begin(), q.end(), still_->qpos);
      mj_fwdPosition(model_.get(), still_.get());
      mj_rne(model_.get(), still_.get(), 0, weight_.data());
    }
  }

  // Speed at which added Coulomb friction reaches 76 %, rad/s or m/s
  static constexpr double kAddedWidth = 0.05;

  Added added_;
  std::unique_ptr<mjModel, void (*)(mjModel *)> model_;
  std::unique_ptr<mjData, void (*)(mjData *)> data_, still_;  // the arm, and the same at rest
  std::vector<double> dry_, weight_;  // friction, and efforts of gravity
};

}  // namespace compiled_plant
