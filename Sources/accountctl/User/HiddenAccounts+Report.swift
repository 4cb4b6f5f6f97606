import AccountLifecycle

extension HiddenAccounts: ReportableError {
    var report: CommandError {
        CommandError(
            .notAuthorised,
            description,
            hint: "Connect as postgres, or as a role with SELECT on these tables and BYPASSRLS."
        )
    }
}
