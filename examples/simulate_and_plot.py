"""A UR5 follows a motion by feedforward and by PD alone, while its model is 10 % too light."""

import matplotlib as mpl

mpl.use("Agg")  # no display needed

import matplotlib.pyplot as plt

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.control import MODES, Model, Reference, gains_for
from robot_dynamics.robot import find_robot
from robot_dynamics.simulation import Plant, simulate, with_mass_scaled
from robot_dynamics.trajectory import excitation, interpolate

robot = read_urdf(find_robot("ur5"))
dynamics = Dynamics(robot)
model = Model(dynamics, gains_for(dynamics))
motion = interpolate(excitation(robot, duration=4.0))
plant = Plant(with_mass_scaled(robot, 1.1), step=0.002)

figure, axes = plt.subplots(2, 3, figsize=(10, 5), sharex=True, layout="constrained")
for mode in ("pd", "feedforward"):

    def controller(t, desired, measured, mode=mode):
        reference = Reference(desired.q, desired.qd, dynamics.inverse(*desired))
        return MODES[mode].effort(model, reference, measured)

    log = simulate(plant, controller, motion, rate=500.0)
    print(f"{mode:12} RMS error, mrad:", (1e3 * log.rms_error).round(2))
    for axis, name, error in zip(axes.flat, log.joint_names, log.error.T, strict=True):
        axis.plot(log.t, 1e3 * error, label=mode)
        axis.set(title=name, xlabel="s", ylabel="error, mrad")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
figure.savefig("tracking.png")
print("tracking.png")
