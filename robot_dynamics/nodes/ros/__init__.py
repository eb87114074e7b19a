"""ROS 2 as values: messages, parameters, quality of service, diagnostics."""
