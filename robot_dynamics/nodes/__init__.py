"""ROS 2 nodes: messages in, one pure call, messages out. The only place where rclpy appears."""
