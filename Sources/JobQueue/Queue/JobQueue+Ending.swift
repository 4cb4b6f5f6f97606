import Postgres

extension JobQueue {
    /// Ended jobs of one outcome, to be moved to the history in one statement.
    package struct Ending: Sendable {
        /// How they ended.
        package enum Outcome: String, Sendable, PostgresDecodable {
            case completed, cancelled, discarded
        }

        let outcome: Outcome
        private(set) var jobs: [JobLease]
        private(set) var outputs = LeasedValues()
        private(set) var reasons = LeasedValues()
        /// The last failure of each job that has one.
        private(set) var failures = LeasedValues()

        /// Creates an ending of jobs with the same outcome, with nothing else to store about them.
        package init(outcome: Outcome, jobs: [JobLease] = []) {
            self.outcome = outcome
            self.jobs = jobs
        }

        /// Adds a job and what to store about it.
        mutating func add(
            _ job: JobLease,
            output: JobDocument? = nil,
            reason: JobDocument? = nil,
            failure: JobDocument? = nil
        ) {
            jobs.append(job)
            if let output { outputs.add(output, of: job) }
            if let reason { reasons.add(reason, of: job) }
            if let failure { failures.add(failure, of: job) }
        }

        /// Reserves capacity for so many jobs.
        mutating func reserveCapacity(_ count: Int) {
            jobs.reserveCapacity(count)
        }
    }
}

/// Values for several jobs, as one JSON object keyed by ``JobLease/member(_:)``.
struct LeasedValues: Sendable {
    private var members = ""

    /// The text of the object; nil if no job has a value.
    var json: String? { members.isEmpty ? nil : "{\(members)}" }

    mutating func add(_ value: JobDocument, of job: JobLease) {
        if !members.isEmpty { members += "," }
        members += job.member(value.json)
    }
}
