/// What the job queue refuses or cannot do.
///
/// `description` holds no arguments of jobs and is safe to log and to store.
package struct JobQueueError: Error, Sendable {
    /// What went wrong, as a value to compare with.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case invalidField, undecodableArguments, newerArguments, leaseLost, leaseTooShort, duplicateKind, notFound
            case liveDuplicate, wrongState, cancelled, outcomesLost, handlersStuck
        }

        private let value: Value

        /// A field of a job, a kind, a schedule or a setting is out of form; ``JobQueueError/field`` names it.
        package static let invalidField = Self(value: .invalidField)
        /// The stored arguments cannot be read by this release.
        static let undecodableArguments = Self(value: .undecodableArguments)
        /// The stored arguments are of a version that only a newer release reads.
        static let newerArguments = Self(value: .newerArguments)
        /// The job is no longer held under this lease: somebody else has it, or it ended.
        package static let leaseLost = Self(value: .leaseLost)
        /// The lease would run out before the call that was about to start is over.
        static let leaseTooShort = Self(value: .leaseTooShort)
        /// A kind or a periodic job was registered twice.
        package static let duplicateKind = Self(value: .duplicateKind)
        /// There is no such job, queue or kind.
        package static let notFound = Self(value: .notFound)
        /// Another unfinished job has the unique key.
        package static let liveDuplicate = Self(value: .liveDuplicate)
        /// The job is in a state in which this cannot be done.
        package static let wrongState = Self(value: .wrongState)
        /// An operator cancelled the job that is worked on.
        package static let cancelled = Self(value: .cancelled)

        /// The worker ended without having written what became of its jobs: they run again when their leases end.
        package static let outcomesLost = Self(value: .outcomesLost)

        /// The worker ended because handlers that do not stop held all of its slots.
        package static let handlersStuck = Self(value: .handlersStuck)

        package var description: String { value.rawValue }
    }

    package let code: Code

    /// The field that is out of form, where there is one.
    package let field: String?

    /// One sentence for people.
    package let message: String

    package init(_ code: Code, field: String? = nil, _ message: String) {
        self.code = code
        self.field = field
        self.message = message
    }

    /// A field out of form: the message says what was expected.
    static func invalid(_ field: String, _ expectation: String) -> JobQueueError {
        JobQueueError(.invalidField, field: field, "\(field) \(expectation)")
    }
}

extension JobQueueError: CustomStringConvertible {
    package var description: String { message }
}
