"""`slinky status`: one screen about one stack. :mod:`.facts` reads the state, :mod:`.ask` asks, :mod:`.build`
judges, :mod:`.render` shows. What could not be asked is said as unknown, never as fine."""
