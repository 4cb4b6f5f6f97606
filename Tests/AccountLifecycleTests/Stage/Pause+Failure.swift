import AccountLifecycle

extension DeletionDriver.Pause {
    /// What the attempt failed of; throws where it did not fail.
    var failure: Situation {
        get throws {
            guard case .failed(_, let situation) = self else { throw Unexpected(self) }
            return situation
        }
    }
}
