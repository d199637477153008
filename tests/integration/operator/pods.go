// Put as cmd/pods/main.go into a tree of slurm-operator 1.1 or newer: its own builders make pods of custom resources that
// come as JSON (tests/operator_pods.py). For 1.0, where internal/builder is one package, import that, and let each of the
// five packages below be it. No part of slurm-operator.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/SlinkyProject/slurm-operator/api/v1beta1"
	"github.com/SlinkyProject/slurm-operator/internal/builder/accountingbuilder"
	"github.com/SlinkyProject/slurm-operator/internal/builder/controllerbuilder"
	"github.com/SlinkyProject/slurm-operator/internal/builder/loginbuilder"
	"github.com/SlinkyProject/slurm-operator/internal/builder/restapibuilder"
	"github.com/SlinkyProject/slurm-operator/internal/builder/workerbuilder"
)

type object struct {
	Kind string          `json:"kind"`
	Obj  json.RawMessage `json:"obj"`
}

type question struct {
	ID string `json:"id"`
	object
	Others []object `json:"others"`
}

type answer struct {
	ID  string `json:"id"`
	Err string `json:"err,omitempty"`
	Pod any    `json:"pod,omitempty"`
	Dep any    `json:"dep,omitempty"`
}

func read(of object) client.Object {
	var into client.Object
	switch of.Kind {
	case "NodeSet":
		into = &api.NodeSet{}
	case "LoginSet":
		into = &api.LoginSet{}
	case "Controller":
		into = &api.Controller{}
	case "RestApi":
		into = &api.RestApi{}
	default:
		into = &api.Accounting{}
	}
	if err := json.Unmarshal(of.Obj, into); err != nil {
		panic(err)
	}
	return into
}

func made(q question) (a answer) {
	a.ID = q.ID
	defer func() {
		if r := recover(); r != nil {
			a.Err = fmt.Sprint(r)
		}
	}()
	scheme := runtime.NewScheme()
	_, _ = clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)
	with := fake.NewClientBuilder().WithScheme(scheme)
	var controller *api.Controller
	for _, each := range q.Others {
		other := read(each)
		with = with.WithObjects(other)
		if found, ok := other.(*api.Controller); ok {
			controller = found
		}
	}
	c := with.Build()
	switch v := read(q.object).(type) {
	case *api.NodeSet:
		a.Pod = workerbuilder.New(c).BuildWorkerPodTemplate(v, controller)
	case *api.LoginSet:
		d, err := loginbuilder.New(c).BuildLogin(v)
		if err != nil {
			panic(err)
		}
		a.Pod, a.Dep = d.Spec.Template, d
	case *api.Controller:
		d, err := controllerbuilder.New(c).BuildController(v)
		if err != nil {
			panic(err)
		}
		a.Pod, a.Dep = d.Spec.Template, d
	case *api.RestApi:
		d, err := restapibuilder.New(c).BuildRestapi(v)
		if err != nil {
			panic(err)
		}
		a.Pod, a.Dep = d.Spec.Template, d
	case *api.Accounting:
		d, err := accountingbuilder.New(c).BuildAccounting(v)
		if err != nil {
			panic(err)
		}
		a.Pod, a.Dep = d.Spec.Template, d
	}
	return
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		panic(err)
	}
	answers := []answer{}
	for _, each := range questions {
		answers = append(answers, made(each))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
