#!/usr/bin/env python3
"""test_containers.py BUILD: deploy/container and deploy/kubernetes, as far as no engine is needed.

Every name in them refers to something that is there; the programs accept the configuration with
the command lines that they get; nothing runs with a right that it does not need. BUILD is the
folder with bin/ and deploy/yaml2json. The last line is "test_containers: N passed, M failed".
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CONTAINER = os.path.join(ROOT, "deploy", "container")
KUBE = os.path.join(ROOT, "deploy", "kubernetes")
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build", "rel")
UID = 10001
API = {  # what a kind belongs to; a typo there is refused only by a cluster
    "Namespace": "v1", "ConfigMap": "v1", "Service": "v1",
    "StatefulSet": "apps/v1", "Deployment": "apps/v1",
    "PodDisruptionBudget": "policy/v1", "HorizontalPodAutoscaler": "autoscaling/v2",
    "NetworkPolicy": "networking.k8s.io/v1", "Ingress": "networking.k8s.io/v1",
}
PROGRAMS = ("queuemng", "router", "segment", "task")


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def yaml_of(path):
    """The documents of a file."""
    tool = os.path.join(BUILD, "deploy", "yaml2json")
    return json.loads(subprocess.run([tool, path], check=True, capture_output=True).stdout)


def accepted(command, conf_dir, **names):
    """The program's verdict (-t) on this command line, with its file from another folder."""
    names = {"POD_NAME": "pod-0", "POD_IP": "10.1.2.3", **names}
    argv = [re.sub(r"\$\((\w+)\)", lambda m: names[m[1]], a) for a in command]
    argv = [re.sub(r"^/etc/segq/", conf_dir + "/", a) for a in argv]
    got = subprocess.run([os.path.join(BUILD, "bin", argv[0]), "-t", *argv[1:]],
                         capture_output=True, text=True)
    return got.returncode, got.stdout + got.stderr


class Compose(unittest.TestCase):
    """compose.yaml and the Containerfile."""

    @classmethod
    def setUpClass(cls):
        cls.file = yaml_of(os.path.join(CONTAINER, "compose.yaml"))[0]
        cls.services = cls.file["services"]
        cls.recipe = text_of(os.path.join(CONTAINER, "Containerfile"))

    def stage(self, target):
        return re.search(r"^FROM \S+ AS %s\n((?:(?!^FROM).*\n)*)" % target, self.recipe, re.M)[1]

    def test_what_is_copied_exists(self):
        for words in re.findall(r"^COPY (?!--from)((?:.*\\\n)*.*)", self.recipe, re.M):
            for name in words.replace("\\\n", " ").split()[:-1]:
                self.assertTrue(os.path.exists(os.path.join(ROOT, name)), name)

    def test_libraries_are_those_that_are_built_with(self):
        """deps.sh knows what a build needs, and `make run` besides."""
        have = self.stage("build")
        deps = re.search(r'^build="([^"]*)"', text_of(os.path.join(ROOT, "deploy/deps.sh")), re.M)
        for package in set(deps[1].split()) - {"curl", "tzdata"}:
            self.assertRegex(have, r"\b%s\b" % re.escape(package))

    def test_every_target_runs_without_rights(self):
        for name, s in self.services.items():
            self.assertRegex(self.stage(s["build"]["target"]), r"(?m)^USER %d:%d$" % (UID, UID))
            self.assertTrue(s["read_only"], name)
            self.assertEqual((s["cap_drop"], s["security_opt"]),
                             (["ALL"], ["no-new-privileges:true"]), name)

    def test_programs_accept_their_command_lines(self):
        asked = [s["command"] for name, s in self.services.items() if s["image"] == "segq" and name != "keys"]
        self.assertEqual({c[0] for c in asked}, set(PROGRAMS))
        for command in asked:
            code, said = accepted(command, os.path.join(CONTAINER, "conf"))
            self.assertEqual(code, 0, said)

    def test_a_wrong_command_line_is_noticed(self):
        code, _ = accepted(["router", "-c", "/etc/segq/router.yaml", "--set", "nod=x"],
                           os.path.join(CONTAINER, "conf"))
        self.assertNotEqual(code, 0)

    def test_names_are_services(self):
        """In command lines, in what is asked for health, and in the configuration."""
        said = json.dumps([[s.get("command"), s.get("healthcheck")] for s in self.services.values()])
        for path in glob.glob(os.path.join(CONTAINER, "conf", "*")):
            said += text_of(path)
        names = set(re.findall(r"\b([a-z]+[0-9]*):(?:6379|7\d\d\d|8080)\b", said))
        self.assertGreaterEqual(names, {"manager1", "manager2", "router1", "redis"})
        self.assertEqual(names - set(self.services) - {"localhost"}, set())

    def test_volumes_networks_and_ports(self):
        for name, s in self.services.items():
            self.assertEqual({v.split(":")[0] for v in s.get("volumes", [])}
                             - set(self.file["volumes"]), set(), name)
            self.assertEqual(set(s["networks"]) - set(self.file["networks"]), set(), name)
            public = [p for p in s.get("ports", []) if not p.startswith("127.0.0.1:")]
            self.assertEqual(public, ["8080:8080"] if name == "front" else [], name)
        self.assertTrue(self.file["networks"]["inside"]["internal"])

    def test_the_front_is_whom_routers_trust(self):
        address = self.services["front"]["networks"]["inside"]["ipv4_address"]
        router = yaml_of(os.path.join(CONTAINER, "conf", "router.yaml"))[0]
        self.assertEqual(router["trusted_proxies"], [address + "/32"])

    def test_prometheus_accepts_its_configuration(self):
        got = subprocess.run(["promtool", "check", "config", "--syntax-only",
                              os.path.join(CONTAINER, "conf", "prometheus.yml")],
                             capture_output=True, text=True)
        self.assertEqual(got.returncode, 0, got.stderr)


def rendered(folder):
    """What kubectl makes of a folder, as documents; without it: SkipTest."""
    if not shutil.which("kubectl"):
        raise unittest.SkipTest("kubectl is not installed")
    got = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
    if got.returncode != 0:
        raise AssertionError(got.stderr)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(got.stdout)
        f.flush()
        return yaml_of(f.name)


class Kubernetes(unittest.TestCase):
    """The manifests of base/, which need no kubectl; each overlay has the same tests below."""

    @classmethod
    def setUpClass(cls):
        cls.kustom = yaml_of(os.path.join(KUBE, "base", "kustomization.yaml"))[0]
        cls.docs = cls.made()
        cls.work = [d for d in cls.docs if d["kind"] in ("StatefulSet", "Deployment")]

    @classmethod
    def made(cls):
        return [d for f in cls.kustom["resources"] for d in yaml_of(os.path.join(KUBE, "base", f))]

    @staticmethod
    def image(name):
        """As base/ calls it."""
        return re.sub(r"^registry.example.org/(.*):.*", r"\1", name)

    def of(self, kind):
        return {d["metadata"]["name"]: d for d in self.docs if d["kind"] == kind}

    @staticmethod
    def pod(work):
        return work["spec"]["template"]["spec"]

    def containers(self):
        for w in self.work:
            for c in self.pod(w).get("initContainers", []) + self.pod(w)["containers"]:
                yield w, c

    def test_every_file_is_applied(self):
        have = {os.path.basename(f) for f in glob.glob(os.path.join(KUBE, "base", "*.yaml"))}
        self.assertEqual(have - {"kustomization.yaml"}, set(self.kustom["resources"]))

    def test_kinds_and_places(self):
        for d in self.docs:
            self.assertEqual(d["apiVersion"], API[d["kind"]], d["metadata"])
            if d["kind"] != "Namespace":
                self.assertEqual(d["metadata"]["namespace"], "segq", d["metadata"])

    def test_selectors_select(self):
        labels = [w["spec"]["template"]["metadata"]["labels"] for w in self.work]
        for w in self.work:
            self.assertEqual(w["spec"]["selector"]["matchLabels"],
                             w["spec"]["template"]["metadata"]["labels"])
        chosen = [d["spec"]["selector"] for d in self.of("Service").values()]
        chosen += [d["spec"]["selector"]["matchLabels"]
                   for d in self.of("PodDisruptionBudget").values()]
        chosen += [d["spec"]["podSelector"]["matchLabels"]
                   for d in self.of("NetworkPolicy").values() if d["spec"]["podSelector"]]
        for want in chosen:
            self.assertIn(want, labels)

    def test_ports_have_names_that_exist(self):
        ports = {}
        for w, c in self.containers():
            names = {p["name"] for p in c.get("ports", [])}
            ports.setdefault(w["metadata"]["name"], set()).update(names)
            for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
                for how in ("httpGet", "tcpSocket"):
                    if how in c.get(probe, {}):
                        self.assertIn(c[probe][how]["port"], names)
        for name, s in self.of("Service").items():
            self.assertLessEqual({p["targetPort"] for p in s["spec"]["ports"]}, ports[name])
        for name, n in self.of("NetworkPolicy").items():
            allowed = {p["port"] for rule in n["spec"].get("ingress", []) for p in rule["ports"]}
            self.assertEqual(allowed, ports.get(name, set()), name)

    def test_volumes_configuration_and_services_exist(self):
        maps = self.of("ConfigMap")
        for w, c in self.containers():
            claims = w["spec"].get("volumeClaimTemplates", [])
            there = {v["name"] for v in self.pod(w).get("volumes", [])}
            there |= {v["metadata"]["name"] for v in claims}
            self.assertLessEqual({m["name"] for m in c["volumeMounts"]}, there)
            for v in self.pod(w).get("volumes", []):
                self.assertIn(v.get("configMap", {"name": "segq"})["name"], maps)
        for w in self.work:
            if w["kind"] == "StatefulSet":
                self.assertIn(w["spec"]["serviceName"], self.of("Service"))
        for h in self.of("HorizontalPodAutoscaler").values():
            self.assertIn(h["spec"]["scaleTargetRef"]["name"], self.of("Deployment"))
            self.assertLessEqual(h["spec"]["minReplicas"], h["spec"]["maxReplicas"])

    def test_who_keeps_something_has_a_disk_a_budget_and_probes(self):
        for name in ("queuemng", "segment", "task"):
            w = self.of("StatefulSet")[name]
            self.assertEqual([c["metadata"]["name"] for c in w["spec"]["volumeClaimTemplates"]], ["data"])
        for name in ("queuemng", "segment", "task", "router"):
            self.assertIn(name, self.of("PodDisruptionBudget"))
        for _, c in self.containers():
            self.assertEqual({"readinessProbe", "livenessProbe"} - set(c), set()
                             if c["name"] != "keys" else {"readinessProbe", "livenessProbe"})

    def test_links_are_those_of_the_protocol(self):
        """Of each policy: who may reach a port that is for processes of ours. segqctl in a manager's pod
        (README.md) is sent to the one that leads."""
        may = {}
        for name, n in self.of("NetworkPolicy").items():
            for rule in n["spec"].get("ingress", []):
                who = {v for f in rule.get("from", []) for s in [f.get("podSelector", {})]
                       for v in [*s.get("matchLabels", {}).values(),
                                 *(x for e in s.get("matchExpressions", []) for x in e["values"])]}
                if who:
                    may.update({(name, p["port"]): who for p in rule["ports"]})
        self.assertEqual(may, {("redis", "redis"): {"queuemng"}, ("queuemng", "nodes"): {"router", "segment", "task"},
                               ("queuemng", "admin"): {"queuemng"}, ("segment", "segments"): {"router", "segment"},
                               ("task", "tasks"): {"router", "task"}})

    def test_secrets_are_those_of_the_page(self):
        named = {s["secret"]["name"] for w in self.work for v in self.pod(w).get("volumes", [])
                 for s in v.get("projected", {}).get("sources", [])}
        page = text_of(os.path.join(KUBE, "README.md"))
        made = dict(re.findall(r"create secret generic (\S+) .*--from-file=(\S+)", page))
        self.assertEqual(named, set(made))
        copied = {os.path.basename(a) for _, c in self.containers() for a in c["command"]
                  if a.startswith("/secrets/")}
        self.assertEqual(copied, {os.path.basename(f) for f in made.values()})

    def test_nobody_has_rights(self):
        for w, c in self.containers():
            mine, own = self.pod(w)["securityContext"], c["securityContext"]
            self.assertEqual((mine["runAsUser"], mine["runAsNonRoot"],
                              mine["seccompProfile"]["type"]), (UID, True, "RuntimeDefault"))
            self.assertEqual((own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"],
                              own["capabilities"]), (False, True, {"drop": ["ALL"]}))
            self.assertIs(self.pod(w)["automountServiceAccountToken"], False)
            self.assertIn("memory", c["resources"]["limits"])

    def test_programs_accept_their_command_lines(self):
        data = dict(self.of("ConfigMap")["segq"]["data"])
        managers = data.pop("managers")
        asked = [c["command"] for _, c in self.containers() if c["command"][0] in PROGRAMS]
        self.assertEqual({c[0] for c in asked}, set(PROGRAMS))
        with tempfile.TemporaryDirectory() as folder:
            for name, text in data.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
            for command in asked:
                code, said = accepted(command, folder, MANAGERS=managers)
                self.assertEqual(code, 0, said)

    def test_images_are_built(self):
        used = {self.image(c["image"]) for _, c in self.containers()}
        self.assertEqual(used, {i["name"] for i in self.kustom["images"]})
        built = yaml_of(os.path.join(CONTAINER, "compose.yaml"))[0]["services"].values()
        self.assertLessEqual(used, {s["image"] for s in built})

    def test_managers_are_the_replicas(self):
        n = self.of("StatefulSet")["queuemng"]["spec"]["replicas"]
        want = ",".join(f"queuemng-{i}.queuemng:7070" for i in range(n))
        self.assertEqual(self.of("ConfigMap")["segq"]["data"]["managers"], want)
        for name in ("router", "segment", "task"):
            command = next(c["command"] for _, c in self.containers() if c["name"] == name)
            self.assertIn("managers=$(MANAGERS)", command)


class Small(Kubernetes):
    """One of each."""

    @classmethod
    def made(cls):
        return rendered(os.path.join(KUBE, "small"))

    def test_one_of_each(self):
        self.assertEqual({w["metadata"]["name"]: w["spec"].get("replicas") for w in self.work},
                         dict.fromkeys(("redis", "queuemng", "segment", "task", "router"), 1))
        self.assertEqual(self.of("HorizontalPodAutoscaler"), {})

    def test_images_have_the_release(self):
        self.assertEqual({c["image"] for w, c in self.containers() if w["metadata"]["name"] != "redis"},
                         {"registry.example.org/segq:" + text_of(os.path.join(ROOT, "VERSION")).strip()})


class Large(Kubernetes):
    """Many."""

    @classmethod
    def made(cls):
        return rendered(os.path.join(KUBE, "large"))

    def test_more_of_each_and_two_managers(self):
        many = {w["metadata"]["name"]: w["spec"].get("replicas") for w in self.work}
        self.assertEqual(many["queuemng"], 2)
        self.assertGreater(min(many["segment"], many["task"]), 3)
        self.assertGreater(self.of("HorizontalPodAutoscaler")["router"]["spec"]["minReplicas"], 3)


class Autoscale(Kubernetes):
    """The sample on our own metrics: what it names, programs have."""

    @classmethod
    def made(cls):
        with tempfile.TemporaryDirectory(dir=KUBE) as folder:  # kustomize takes no base by an absolute path
            with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as f:
                f.write("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
                        "resources: [../base]\ncomponents: [../autoscale]\n")
            return rendered(folder)

    def test_metrics_are_ours_and_the_rules_make_them(self):
        rules = yaml_of(os.path.join(KUBE, "autoscale", "adapter.yaml"))[0]
        made = {"Pods": [r["name"]["as"] for r in rules["rules"]],
                "External": [r["name"]["as"] for r in rules["externalRules"]]}
        scaled = [*self.of("HorizontalPodAutoscaler").values(),
                  *yaml_of(os.path.join(KUBE, "autoscale", "workers.yaml"))]
        for h in scaled:
            for m in h["spec"]["metrics"]:
                self.assertIn(m[m["type"].lower()]["metric"]["name"], made[m["type"]])
        source = "".join(text_of(f) for room in ("router", "queuemng")
                         for f in glob.glob(os.path.join(ROOT, room, "service", "metrics.c")))
        for r in rules["rules"] + rules["externalRules"]:
            series = re.match(r"(segq_(?:router_http|tasks)_)(\w+)", r["seriesQuery"])
            self.assertRegex(source, f'"{series[1]}" name')
            self.assertRegex(source, f'"{series[2]}"')

    def test_prometheus_accepts_the_scrape(self):
        got = subprocess.run(["promtool", "check", "config", "--syntax-only",
                              os.path.join(KUBE, "autoscale", "prometheus.yml")], capture_output=True, text=True)
        self.assertEqual(got.returncode, 0, got.stderr)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_containers: {got.testsRun - bad - len(got.skipped)} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
