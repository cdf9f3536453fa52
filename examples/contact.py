"""A rigid ball lies on a soft cushion, the cushion on the floor, and the floor carries the weight of both."""

import continua as ct

cushion = ct.SoftBody(
    ct.mesh.box(size=(0.6, 0.2, 0.6), cells=(8, 3, 8), origin=(-0.3, 0.0, -0.3)),
    material=ct.Corotated(young=6e4, poisson=0.4, density=200.0),
    damping=(2.0, 0.02),
)
ball = ct.RigidBody(ct.Sphere((0.0, 0.33, 0.0), 0.12), density=1500.0)
world = ct.World(
    [cushion, ball], colliders=[ct.Plane(friction=0.6)], contact=ct.Contact(friction=0.5), dt=0.01
)

for frame in world.run(seconds=2.0, fps=4):
    print(f"t = {frame.time:4.2f} s   ball at {ball.center_of_mass[1]:.4f} m")

reports = {report.body: report for report in world.step()}
carried = (
    reports["cushion"].contact_force[1] + reports["ball"].contact_force[1]
)  # what they do to each other cancels
weight = 9.81 * (cushion.mass_total + ball.mass_total)
sunk = 0.32 - ball.center_of_mass[1]
print(
    f"the floor carries {carried:.2f} N, the weight is {weight:.2f} N, and the ball has sunk in {sunk * 1e3:.1f} mm"
)
assert abs(carried / weight - 1.0) < 1e-3
assert 0.0 < sunk < 0.1
