import AccountLifecycle

extension HiddenAccounts: ReportableError {
    var report: ErrorReport {
        ErrorReport(
            .notAuthorised,
            description,
            hint: "Connect as postgres, or as a role with SELECT on these tables and BYPASSRLS."
        )
    }
}
