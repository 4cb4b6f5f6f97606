/// A result of one of `doctor`'s checks, and what it means.
struct DoctorFinding: Sendable, Equatable {
    enum Severity: String, Sendable, Comparable, CaseIterable {
        /// Checked, and in order.
        case ok
        /// Worth knowing.
        case notice
        /// Will become a problem.
        case warning
        /// Is a problem.
        case error

        static func < (left: Severity, right: Severity) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    let severity: Severity
    /// A stable name, such as `database.role`.
    let code: String
    /// What was found.
    let what: String
    /// Why it matters; nil if all is well.
    let why: String?
    /// What to do about it.
    let todo: String?

    init(_ severity: Severity, _ code: String, _ what: String, why: String? = nil, todo: String? = nil) {
        self.severity = severity
        self.code = code
        self.what = what
        self.why = why
        self.todo = todo
    }

    /// Whether this finding has the same meaning and remedy as another.
    func meansTheSame(as other: DoctorFinding) -> Bool {
        code == other.code && why == other.why && todo == other.todo
    }

    /// The finding with the options of this run added to the commands that it names.
    func completed(_ complete: (String) -> String) -> DoctorFinding {
        DoctorFinding(severity, code, what, why: why, todo: todo.map(complete))
    }

    /// A sentence to append to the correction of a setting: doctor uses the new value at once, workers only after a
    /// restart.
    static let thenRestart = " Then restart the workers: they read settings only when they start."

    /// Further advice where Apple rejects a key.
    static let ofNewKey = " How to replace a revoked key with a new one: accountctl apple --help."

    static func ok(_ code: String, _ what: String) -> DoctorFinding { DoctorFinding(.ok, code, what) }

    /// A finding about something configured that cannot be used, with the error's message and hint; `todo` is used if
    /// the error has no hint.
    static func unusable(_ code: String, _ error: any Error, why: String, todo: String? = nil) -> DoctorFinding {
        let report = CommandError(error)
        return DoctorFinding(.error, code, report.message, why: why, todo: report.hint ?? todo)
    }
}
