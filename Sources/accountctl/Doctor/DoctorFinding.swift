/// Something that `doctor` looked at, and what it means.
struct DoctorFinding: Sendable, Equatable {
    enum Severity: String, Sendable, Comparable, CaseIterable {
        /// Looked at, and sound.
        case ok
        /// Worth knowing.
        case notice
        /// Will become trouble.
        case warning
        /// Is trouble.
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
    /// Why it matters; nil where all is well.
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

    /// This finding with the commands that it names completed.
    func completed(_ complete: (String) -> String) -> DoctorFinding {
        DoctorFinding(severity, code, what, why: why, todo: todo.map(complete))
    }

    /// What is to be done after a setting was corrected, to be put behind that: doctor finds it well at once, and workers
    /// do not.
    static let thenRestart = " Then start workers anew: they read settings when they start."

    /// What to do besides where Apple rejects us.
    static let ofNewKey = " How a new key takes the place of one that was revoked: accountctl apple --help."

    static func ok(_ code: String, _ what: String) -> DoctorFinding { DoctorFinding(.ok, code, what) }

    /// What is configured cannot be used: in the words of the error, with `todo` where it says nothing itself.
    static func unusable(_ code: String, _ error: any Error, why: String, todo: String? = nil) -> DoctorFinding {
        let report = ErrorReport(error)
        return DoctorFinding(.error, code, report.message, why: why, todo: report.hint ?? todo)
    }
}
