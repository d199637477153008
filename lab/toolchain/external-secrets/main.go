// The External Secrets Operator's own controllers, with one of its stores: Kubernetes' Secrets.
package main

import "github.com/external-secrets/external-secrets/cmd/controller"

func main() {
	controller.Execute()
}
