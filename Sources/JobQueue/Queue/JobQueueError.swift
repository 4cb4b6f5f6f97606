/// An operation that the job queue rejects or cannot do.
///
/// `description` holds no arguments of jobs and is safe to log and to store.
package struct JobQueueError: Error, Sendable {
    /// The kind of error, to compare with.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case invalidField, undecodableArguments, newerArguments, leaseLost, leaseTooShort, duplicateKind, notFound
            case liveDuplicate, wrongState, cancelled, outcomesLost, handlersStuck
        }

        private let value: Value

        /// A field of a job, a kind, a schedule or a setting is invalid; ``JobQueueError/field`` names it.
        package static let invalidField = Self(value: .invalidField)
        /// This release cannot read the stored arguments.
        static let undecodableArguments = Self(value: .undecodableArguments)
        /// The stored arguments have a version that only a newer release reads.
        static let newerArguments = Self(value: .newerArguments)
        /// The job is no longer held under this lease: somebody else has it, or it ended.
        package static let leaseLost = Self(value: .leaseLost)
        /// The lease would expire before the call that was about to start is over.
        static let leaseTooShort = Self(value: .leaseTooShort)
        /// A kind or a periodic job was registered twice.
        package static let duplicateKind = Self(value: .duplicateKind)
        /// There is no such job, queue or kind.
        package static let notFound = Self(value: .notFound)
        /// Another unfinished job has the unique key.
        package static let liveDuplicate = Self(value: .liveDuplicate)
        /// The job's state does not allow the operation.
        package static let wrongState = Self(value: .wrongState)
        /// An operator cancelled the job that is held by hand.
        package static let cancelled = Self(value: .cancelled)

        /// The worker ended without having written the outcomes of its jobs: they run again when their leases expire.
        package static let outcomesLost = Self(value: .outcomesLost)

        /// The worker ended because handlers that did not stop held all of its slots.
        package static let handlersStuck = Self(value: .handlersStuck)

        package var description: String { value.rawValue }
    }

    package let code: Code

    /// The invalid field, if there is one.
    package let field: String?

    /// One sentence for people.
    package let message: String

    package init(_ code: Code, field: String? = nil, _ message: String) {
        self.code = code
        self.field = field
        self.message = message
    }

    /// An error for an invalid field; the message says what was expected.
    static func invalid(_ field: String, _ expectation: String) -> JobQueueError {
        JobQueueError(.invalidField, field: field, "\(field) \(expectation)")
    }
}

extension JobQueueError: CustomStringConvertible {
    package var description: String { message }
}
