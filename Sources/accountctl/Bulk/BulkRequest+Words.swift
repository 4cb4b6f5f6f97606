import AccountLifecycle
import Terminal

/// The questions and messages of a bulk run.
extension BulkRequest {
    /// Returns the status of a run that reached the end of its list or stopped after too many failures.
    func end(_ pace: BulkPace, _ planned: Int) throws -> ExitStatus {
        let failed = pace.counts[.failed, default: 0]
        if failed > 0 {
            let said =
                pace.isStopped && pace.done < planned
                ? "stopped after \(Wording.count(failed, "failure")): \(planned - pace.done) not done"
                : "\(Wording.count(failed, "account")) failed"
            throw CommandError(
                .failure,
                said + (pace.lastError.map { "; the last: \($0)" } ?? ""),
                hint: "\(resultPath) says why for each. \(Self.goesOn)"
            )
        }
        return pace.counts[.unknownUser, default: 0] > 0 ? .notFound : .ok
    }

    static let goesOn = "The same command line continues with the rest."

    /// The confirmation question, asked before any request is opened.
    func question(_ rest: BulkRest, _ survey: DeletionDesk.Survey) -> String {
        var facts = ["\(Wording.count(list.ids.count, "id")) in the list"]
        if rest.doneBefore > 0 { facts.append("\(rest.doneBefore) done before") }
        if rest.cancelled > 0 { facts.append("\(rest.cancelled) cancelled since") }
        let unknown = Self.unknown(rest, survey)
        if unknown > 0 { facts.append("\(unknown) without an account") }
        if survey.open + survey.leaving > 0 { facts.append("\(survey.open + survey.leaving) requested already") }
        if survey.erased > 0 { facts.append("\(survey.erased) erased before") }
        if survey.held > 0 { facts.append("\(survey.held) under legal hold") }
        return
            "Delete \(Wording.count(survey.accounts - survey.open, "account")) for good? (\(facts.joined(separator: ", ")))"
    }

    /// How many of the remaining ids belong to no account.
    static func unknown(_ rest: BulkRest, _ survey: DeletionDesk.Survey) -> Int {
        rest.left.count - survey.accounts - survey.leaving - survey.erased
    }

    /// The output of a dry run.
    func plan(_ rest: BulkRest, _ survey: DeletionDesk.Survey) -> Sheet {
        DeletionRequestSheet.of([
            .outcome: "would_be_requested",
            .ids: .integer(list.ids.count),
            .repeated: .integer(list.repeated),
            .doneBefore: .integer(rest.doneBefore),
            .cancelled: .integer(rest.cancelled),
            .accounts: .integer(survey.accounts),
            .unknownUser: .integer(Self.unknown(rest, survey)),
            .found: .integer(survey.open + survey.leaving),
            .erased: .integer(survey.erased),
            .held: .integer(survey.held),
            .confirm: .text("--confirm=\(list.ids.count)"),
            .resultFile: .text(resultPath),
        ])
    }

    /// The output at the end of a run, whether it finished or stopped.
    func outcome(_ rest: BulkRest, _ pace: BulkPace) -> Sheet {
        DeletionRequestSheet.of([
            .outcome: .text(pace.done < rest.left.count ? "stopped" : "requested"),
            .ids: .integer(list.ids.count),
            .repeated: .integer(list.repeated),
            .doneBefore: .integer(rest.doneBefore),
            .cancelled: .integer(rest.cancelled),
            .requested: .integer(pace.counts[.requested, default: 0]),
            .found: .integer(pace.counts[.found, default: 0]),
            .erased: .integer(pace.counts[.erased, default: 0]),
            .unknownUser: .integer(pace.counts[.unknownUser, default: 0]),
            .failed: .integer(pace.counts[.failed, default: 0]),
            .resultFile: .text(resultPath),
        ])
    }
}
