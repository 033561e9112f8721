// Reads manifests as an API server does: kustomizations by their folders, others by their files. Ends with an error at
// an unknown field, a value of another type, and a pod that is not "restricted". Prints what it has read.
package main

import (
	"fmt"
	"os"
	"strings"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	disruption "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var restricted = api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}

func main() {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(core.AddToScheme, apps.AddToScheme, batch.AddToScheme, autoscaling.AddToScheme,
		networking.AddToScheme, disruption.AddToScheme, certmanager.AddToScheme)
	check(builder.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	security, err := policy.NewEvaluator(policy.DefaultChecks())
	check(err)
	for _, path := range os.Args[1:] {
		for _, text := range manifests(path) {
			object, kind, err := decoder.Decode(text, nil, nil)
			check(err)
			fmt.Println(kind.Kind)
			if pod := podOf(object); pod != nil {
				result := policy.AggregateCheckResults(security.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
				if !result.Allowed {
					panic(result.ForbiddenDetail())
				}
			}
		}
	}
}

func manifests(path string) [][]byte {
	if strings.HasSuffix(path, ".yaml") {
		text, err := os.ReadFile(path)
		check(err)
		return [][]byte{text}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	check(err)
	var all [][]byte
	for _, resource := range built.Resources() {
		all = append(all, []byte(resource.MustYaml()))
	}
	return all
}

func podOf(object runtime.Object) *core.PodTemplateSpec {
	switch workload := object.(type) {
	case *apps.Deployment:
		return &workload.Spec.Template
	case *batch.Job:
		return &workload.Spec.Template
	}
	return nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
