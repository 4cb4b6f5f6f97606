-- accountctl: bundle=core
-- The step at Apple records in its facts that it goes there before it does; where it has none, its beginning may be taken back. What an
-- earlier release began may have come as far, and is not taken back.

update accountctl.deletion_steps
set facts = '{}'
where step = 'revoke_apple'
  and finished_at is null
  and facts is null;
