"""What Kubernetes itself takes in pods, Services and claims: types, names, amounts and rules."""
