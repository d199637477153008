"""What a person or a CI job runs beside `pulumi`; folders bear the commands' names. `pulumi up` imports none of it."""
