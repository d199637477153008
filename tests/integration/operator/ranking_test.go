package utils

// Put beside sort.go of slurm-operator by test_operator_ranking.py: what its own code deletes, case by case.

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type podCase struct {
	Name, Node, Phase   string
	Ready               bool
	Annotations         map[string]string
	ReadySince, Created int64
}

type rankingCase struct {
	Pods   []podCase
	Delete int
}

func TestRankingForSlinkyIac(t *testing.T) {
	raw, err := os.ReadFile(os.Getenv("RANKING_CASES"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []rankingCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	answers := make([][]string, len(cases))
	for i, each := range cases {
		pods := make([]*corev1.Pod, len(each.Pods))
		for j, pod := range each.Pods {
			pods[j] = pod.pod()
		}
		deleted, _ := SplitActivePods(pods, each.Delete)
		answers[i] = []string{}
		for _, pod := range deleted {
			answers[i] = append(answers[i], pod.Name)
		}
	}
	out, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("RANKING_ANSWERS"), out, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p podCase) pod() *corev1.Pod {
	ready := corev1.ConditionFalse
	if p.Ready {
		ready = corev1.ConditionTrue
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              p.Name,
			Annotations:       p.Annotations,
			CreationTimestamp: metav1.NewTime(time.Unix(p.Created, 0)),
		},
		Spec: corev1.PodSpec{NodeName: p.Node},
		Status: corev1.PodStatus{
			Phase: corev1.PodPhase(p.Phase),
			Conditions: []corev1.PodCondition{{
				Type:               corev1.PodReady,
				Status:             ready,
				LastTransitionTime: metav1.NewTime(time.Unix(p.ReadySince, 0)),
			}},
		},
	}
}
