import AccountLifecycle
import ArgumentParser
import Foundation
import JobQueue
import Settings
import TestSupport
import Testing

@testable import accountctl

/// The names in the deploy files match the program; containers, clusters and dashboards themselves cannot run here.
@Suite("The files in deploy name only what exists")
struct DeployFilesTests {
    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: Repository.path(path), encoding: .utf8)
    }

    /// The names of metrics in a PromQL expression: words that are no function, label, range or grouping.
    private func metrics(in expression: String) -> Set<String> {
        let labels = expression.replacing(/\{[^}]*\}|\bby \([^)]*\)|\[[0-9a-z:]+\]/, with: "")
        let words = labels.matches(of: /[a-z][a-z_0-9]*/).filter { match in
            !labels[match.range.upperBound...].drop { $0 == " " }.hasPrefix("(")
                && !["by", "and", "on", "unless"].contains(String(match.0))
        }
        return Set(words.map { String($0.0) })
    }

    /// The name of every metric in the sources, and whether it is a histogram.
    private func declaredMetrics() throws -> [String: Bool] {
        var names: [String: Bool] = [:]
        for file in Repository.swiftFiles(below: "Sources") {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            for match in text.matches(of: /(Counter|Gauge|Timer|Meter)\(\s*label: "([a-z_]+)"/) {
                names[String(match.2)] = match.1 == "Timer"
            }
        }
        return names
    }

    @Test func expressions() {
        #expect(metrics(in: "absent(jobs_running)") == ["jobs_running"])
        #expect(metrics(in: "sum by (a, b) (rate(x_total{c=\"d e\"}[5m])) > 2") == ["x_total"])
        #expect(metrics(in: "end_seconds - time() < 14 * 86400") == ["end_seconds"])
        #expect(metrics(in: "avg_over_time(max(x{a=\"b\"})[7d:10m]) > 2") == ["x"])
        #expect(metrics(in: "sum by (a) (x_total) > 0 unless sum by (a) (y_total) > 0") == ["x_total", "y_total"])
    }

    /// The PromQL expressions of the dashboard's panels.
    private func panels() throws -> [String] {
        let dashboard = try JSONSerialization.jsonObject(with: Data(try text("deploy/monitoring/dashboard.json").utf8))
        let panels = try #require((dashboard as? [String: Any])?["panels"] as? [[String: Any]])
        let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
        let expressions = targets.compactMap { $0["expr"] as? String }
        #expect(expressions.count >= panels.count && panels.count > 5)
        return expressions
    }

    /// The PromQL expressions of the alerts.
    private func alerts() throws -> [String] {
        let alerts = try text("deploy/monitoring/alerts.yaml").split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^ +expr: (.+)$/).map { String($0.1) }
        }
        #expect(alerts.count > 5)
        return alerts
    }

    private func queries() throws -> [String] { try panels() + alerts() }

    @Test("Every metric of an alert is on the dashboard, so that its history can be seen")
    func panelsOfAlerts() throws {
        let shown = try panels().reduce(into: Set<String>()) { $0.formUnion(metrics(in: $1)) }
        for alert in try alerts() {
            #expect(metrics(in: alert).isSubset(of: shown), "\(alert)")
        }
    }

    @Test("Only counters of single workers are summed: metrics of tables are the same in every worker")
    func sums() throws {
        let sums = try queries().filter { $0.contains("sum") }
        #expect(sums.count > 5)
        for expression in sums {
            let names = metrics(in: expression)
            #expect(names.allSatisfy { $0.hasSuffix("_total") || $0.hasSuffix("_bucket") }, "\(expression)")
        }
    }

    @Test("The alerts and the doctor have the same limits")
    func limits() throws {
        let alerts = try text("deploy/monitoring/alerts.yaml")
        #expect(alerts.contains("(jobs_oldest_ready_seconds) > \(Int(JobFigures.Limits.oldestReady))\n"))
        #expect(alerts.contains("(jobs_oldest_xmin_age) > \(JobFigures.Limits.oldestXminAge)\n"))
        #expect(alerts.contains("(jobs_oldest_snapshot_seconds) > \(Int(JobFigures.Limits.oldestSnapshot))\n"))
        #expect(alerts.contains("(jobs_dead_rows) > \(JobFigures.Limits.deadRows)\n"))
    }

    @Test("The dashboard and the alerts query only metrics that the program has")
    func metricNames() throws {
        let declared = try declaredMetrics()
        #expect(declared.count > 20)
        let series = declared.flatMap { name, isHistogram -> [String] in
            isHistogram ? ["_bucket", "_sum", "_count"].map { name + $0 } : [name]
        }
        for expression in try queries() {
            let names = metrics(in: expression)
            #expect(!names.isEmpty && names.isSubset(of: series), "\(expression): \(names.subtracting(series))")
        }
    }

    @Test("Every metric has a help text of one line")
    func metricHelp() throws {
        #expect(try MetricHelp.texts.keys.sorted() == declaredMetrics().keys.sorted())
        for text in MetricHelp.texts.values { #expect(!text.contains("\n") && !text.contains("\\")) }
    }

    @Test("The alerts for legal deadlines and late revocations fire at the limits of the doctor's findings")
    func urgency() throws {
        let days = OpenRequests.urgency / .seconds(86_400)
        #expect(try queries().contains("min(deletion_legal_deadline_seconds) < \(Int(days)) * 86400"))
        let patience = Int(LateRevocations.patience / .seconds(1))
        #expect(try queries().contains("max(apple_oldest_pending_revocation_seconds) > \(patience)"))
    }

    @Test("No alert fires for requests under a legal hold")
    func holds() throws {
        let ofHeld = try queries().filter { $0.contains("held|") }
        let leavingOut = ofHeld.filter { $0.contains("- max by (state) (deletion_requests_under_hold)") }
        #expect(!ofHeld.isEmpty && leavingOut == ofHeld, "\(ofHeld)")
    }

    @Test("Averages over time are taken over all workers: a new worker's average covers only its own lifetime")
    func usual() throws {
        let averages = try queries().filter { $0.contains("avg_over_time") }
        let ofAll = averages.filter { $0.contains("avg_over_time(max(") }
        #expect(!averages.isEmpty && ofAll == averages, "\(averages)")
    }

    @Test("Every command line that the deploy files start is valid")
    func commandLines() throws {
        let unit = try text("deploy/systemd/accountctl-worker.service")
        let manifest = try text("deploy/kubernetes/accountctl.yaml")
        let container = try text("deploy/container/Dockerfile")
        var lines = manifest.matches(of: /args: \[(.+)\]/).map { String($0.1).replacing(",", with: "") }
        #expect(lines.count == 2)
        lines += unit.matches(of: /ExecStart=\S+accountctl (.+)/).map { String($0.1) }
        lines += container.matches(of: /CMD \["(.+)"\]/).map { String($0.1) }
        #expect(lines.count == 4)
        for line in lines { expectIsTaken(line) }
    }

    @Test("The demo takes numbers with zeros before them in base ten")
    func demoNumbers() async throws {
        let demo = try AccountctlProcess(
            ["--users", "09", "--deletions", "010"],
            program: Repository.path("deploy/demo")
        )
        // A demo that takes these would build the programs.
        let result = try await demo.result(within: .seconds(30))
        #expect(result.status == 64 && result.errors.contains("ask for 10 deletions or more"), "\(result)")
    }

    /// Expects that the program parses these words as a command line.
    private func expectIsTaken(_ line: String) {
        let words = line.split(separator: " ").map(String.init)
        #expect(throws: Never.self, "\(line)") {
            _ = try Accountctl.parseAsRoot(CommandWords.normalised(words, root: Accountctl.self))
        }
    }

    /// The person on call has to know where to look.
    @Test("Each alert names a valid command line")
    func commandsOfAlerts() throws {
        let alerts = try text("deploy/monitoring/alerts.yaml").components(separatedBy: "- alert: ").dropFirst()
        #expect(alerts.count > 20)
        for alert in alerts {
            let summary = try #require(alert.firstMatch(of: /summary: (.+)/)?.1, "\(alert)")
            let filled = summary.replacing(/\{\{ \$labels\.[a-z_]+ \}\}/, with: "blocked")
            let command = try #require(filled.firstMatch(of: /accountctl ([a-z -]+)/)?.1, "\(summary)")
            expectIsTaken(String(command))
        }
    }

    @Test("Variables, ports and probes are those of the program, and nothing runs as root")
    func manifest() throws {
        let manifest = try text("deploy/kubernetes/accountctl.yaml")
        let container = try text("deploy/container/Dockerfile")
        let known = Settings.check(SettingsInputs(file: nil, variables: [:]) { _ in "" }).settings.declarations
            .map { SettingsInputs.variable(of: $0.key) }
        for match in manifest.matches(of: /\{name: (ACCOUNTCTL_[A-Z_]+), value: ":(\d+)"\}/) {
            #expect(known.contains(String(match.1)))
            #expect(manifest.contains("containerPort: \(match.2)"))
        }
        #expect(manifest.contains("path: /health/live") && manifest.contains("path: /health/ready"))
        #expect(manifest.contains("runAsNonRoot: true") && container.contains("USER 65532:65532"))
        #expect(!manifest.contains("\t"))
        // A pod with a newer program exits if it starts before the schema is migrated.
        #expect(manifest.matches(of: /image: accountctl:(\S+)/).map { String($0.1) } == ["VERSION", "VERSION"])
        for package in ["libpq5", "libc-ares2", "zlib1g", "ca-certificates"] {
            #expect(container.contains(package))
        }
        let build = try #require(try text("deploy/install-packages").firstMatch(of: /\nbuild=\((.+)\)\n/)?.1)
        #expect(container.contains("--no-install-recommends \(build) \\\n"))
    }

    /// A worker that is killed before it has handed its jobs back counts as crashed.
    @Test("Kubernetes, systemd and Docker wait at least 25 seconds longer than a worker's shutdown timeout")
    func stop() throws {
        let manifest = try text("deploy/kubernetes/accountctl.yaml")
        let unit = try text("deploy/systemd/accountctl-worker.service")
        let container = try text("deploy/container/Dockerfile")
        let settings = Settings.check(SettingsInputs(file: nil, variables: [:]) { _ in "" }).settings
        let least = Int(settings.worker.shutdownTimeout / .seconds(1)) + 25
        for match in [
            manifest.firstMatch(of: /\n +terminationGracePeriodSeconds: (\d+)\n/)?.1,
            unit.firstMatch(of: /\nTimeoutStopSec=(\d+)\n/)?.1,
            container.firstMatch(of: /docker run -d .*--stop-timeout (\d+)/)?.1,
        ] {
            let patience = try #require(match.flatMap { Int($0) })
            #expect(patience >= least)
        }
    }

    /// A worker ends if the database is away when it starts, such as after a restart of the machine.
    ///
    /// Kubernetes restarts the pods of a deployment by itself.
    @Test("systemd and Docker start a worker that ended again")
    func restart() throws {
        #expect(try text("deploy/systemd/accountctl-worker.service").contains("\nRestart=always\n"))
        #expect(try text("deploy/container/Dockerfile").contains(/docker run -d .*--restart unless-stopped --/))
    }

    /// Kubernetes gives every pod environment variables that begin with the names of services, which include
    /// `accountctl`.
    @Test("No pod has service variables that the program would read as settings")
    func serviceLinks() throws {
        let manifest = try text("deploy/kubernetes/accountctl.yaml")
        let pods = manifest.matches(of: /\n +containers:\n/).count
        #expect(pods == 2)
        #expect(manifest.matches(of: /\n +enableServiceLinks: false\n/).count == pods)
    }

    @Test("A doctor job that never starts fails before the next one is due")
    func doctorEnds() throws {
        let manifest = try text("deploy/kubernetes/accountctl.yaml")
        let pause = try #require(manifest.firstMatch(of: /schedule: "\*\/(\d+) \* \* \* \*"/).flatMap { Int($0.1) })
        let life = try #require(manifest.firstMatch(of: /\n      activeDeadlineSeconds: (\d+)\n/).flatMap { Int($0.1) })
        #expect(life < pause * 60)
    }

    /// Without a network policy, a port is open to the whole cluster, with or without a service.
    @Test("The public port is open to all, and the admin port only to monitoring")
    func policy() throws {
        let manifest = try text("deploy/kubernetes/accountctl.yaml")
        let policies = manifest.components(separatedBy: "\n---\n").filter { $0.contains("\nkind: NetworkPolicy\n") }
        #expect(policies.count == 1)
        let policy = try #require(policies.first)
        let labels = manifest.matches(of: /\n +labels: \{app: ([a-z]+)\}\n/).map { String($0.1) }
        #expect(labels == ["accountctl", "accountctl"])
        #expect(policy.contains("\n  podSelector:\n    matchLabels: {app: accountctl}\n"))
        #expect(policy.contains("\n  policyTypes: [Ingress]\n"))
        let parts = policy.components(separatedBy: "\n  ingress:")
        #expect(parts.count == 2)
        let rules = parts[parts.count - 1].components(separatedBy: "\n    - ").dropFirst().map { rule in
            (isForAll: !rule.contains("from:"), ports: rule.matches(of: /port: ([a-z]+)/).map { String($0.1) })
        }
        #expect(rules.filter { $0.isForAll }.flatMap { $0.ports } == ["public"])
        #expect(rules.filter { !$0.isForAll }.flatMap { $0.ports } == ["admin"])
        let ports = manifest.matches(of: /\{name: ([a-z]+), containerPort: \d+\}/).map { String($0.1) }
        #expect(ports.sorted() == ["admin", "public"])
    }

    /// libpq looks for certificates in the home directory: a missing directory is fine, but each connection fails if
    /// the directory cannot be read.
    @Test("The service's home directory is missing, not unreadable")
    func home() throws {
        #expect(try text("deploy/systemd/accountctl-worker.service").contains("\nProtectHome=tmpfs\n"))
        let users = try Document.wholeText().matches(of: /useradd .+/).map { String($0.0) }
        #expect(users.count == 1 && users.allSatisfy { $0.contains(" --home-dir /nonexistent ") })
    }

    @Test("Every file that the documented settings name is installed at its path")
    func filesOfTheSettings() throws {
        let told = try Document.wholeText()
        let settings = try #require(
            told.components(separatedBy: "```").first { $0.contains("\nenvironment = production\n") }
        )
        let named = Set(settings.matches(of: /\/etc\/accountctl\/([^\s]+)/).map { String($0.1) })
        #expect(named.count > 6)
        let manifest = try text("deploy/kubernetes/accountctl.yaml")
        let kept = Set(manifest.matches(of: /--from-file=(\S+)/).map { String($0.1) })
        var brought = Set(told.matches(of: /--output \/etc\/accountctl\/(\S+)/).map { String($0.1) })
        for line in told.matches(of: /install -m \d+ (.+) \/etc\/accountctl\/\n/) {
            brought.formUnion(line.1.split(separator: " ").map(String.init))
        }
        for name in named.union(["accountctl.conf"]) {
            #expect(brought.contains { fnmatch($0, name, 0) == 0 }, "\(name)")
            // One team's key is an example for those of all teams.
            let isKept = name.hasPrefix("AuthKey_") ? kept.contains { $0.hasPrefix("AuthKey_") } : kept.contains(name)
            #expect(isKept, "\(name)")
        }
    }
}
