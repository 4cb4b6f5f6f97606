import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The result of cancelling one request.
struct DeletionCancelResult: Sendable {
    let request: UUID
    /// The outcome; nil if nothing was done for a reason other than the request's state, such as an unknown id.
    let outcome: ActOutcome?
    /// The reason for a refusal, as a word that is part of the interface.
    let refusal: String?
    /// The exit status that the command would have had for this request alone.
    let status: ExitStatus
    /// The result in words for the operator.
    let result: String

    /// The result of an attempt to cancel a request.
    init(_ request: UUID, _ act: DeletionDesk.Act, isRehearsed: Bool) {
        let name = request.text
        switch act {
        case .done where isRehearsed: self.init(request, .wouldBeDone, "would be cancelled")
        case .done: self.init(request, .done, "cancelled")
        // An interrupted run of the same list may have cancelled these before.
        case .unchanged, .ended(.cancelled): self.init(request, .unchanged, "was cancelled already")
        case .waiting: self.init(request, .unchanged, "nothing to do")
        case .unknownRequest: self.init(request, RequestTarget.unknown(name))
        case .ended(let state): self.init(request, RequestTarget.ended(state, name), RequestTarget.refusal(act))
        case .refused(let why): self.init(request, CommandError(.blocked, why.words), RequestTarget.refusal(act))
        }
    }

    /// The result for a request that an error left unchanged.
    init(_ request: UUID, _ error: any ReportableError, _ refusal: String? = nil) {
        let report = error.report
        (self.request, self.refusal, status, result) = (request, refusal, report.status, report.message)
        outcome = refusal.map { _ in .refused }
    }

    private init(_ request: UUID, _ outcome: ActOutcome, _ result: String) {
        (self.request, self.outcome, refusal, status, self.result) = (request, outcome, nil, .ok, result)
    }

    /// The columns of the output for a list.
    static let fields: [Field<DeletionCancelResult>] = [
        Field(RequestTarget.idField.name, RequestTarget.idField.label) { .uuid($0.request) },
        Field(ActOutcome.field, nil) { .text($0.outcome?.rawValue) },
        Field(RequestTarget.refusalField, nil) { .text($0.refusal) },
        Field("exit_code", nil) { .integer(Int64($0.status.rawValue)) },
        Field("result", "Result", emphasis: { $0.status == .ok ? .none : .bad }) { .text($0.result) },
    ]

    static let outputFields = fields.map(\.name)

    /// The facts shown for a single request besides its id and the outcome.
    var facts: [Sheet.Fact] { Self.fields.dropFirst(2).map { .init($0.name, $0.name, $0.value(self)) } }
}
